#include "product.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace chasqui::test;

namespace {

constexpr int64_t n_experts = 5, n_used = 2, m = 37;

// Each token has one column for all its experts, or one for each.
struct Experts {
    ggml_type type;
    int64_t   k, n_tokens, n_columns;
    int       n_threads;
};

std::string name(const Experts& p) {
    return std::string(ggml_type_name(p.type)) + ", " + std::to_string(p.n_tokens) + " tokens x " +
           std::to_string(p.n_columns) + ", " + std::to_string(p.n_threads) + " threads";
}

std::vector<float> product_of(const Experts& p, const std::vector<uint8_t>& weights, const std::vector<float>& columns,
                              const std::vector<int32_t>& ids) {
    const Owned<ggml_context*> context(ggml_init({1 << 20, nullptr, true}));
    ggml_tensor* const a = ggml_new_tensor_3d(context.get(), p.type, p.k, m, n_experts);
    ggml_tensor* const b = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, p.k, p.n_columns, p.n_tokens);
    // A view, as in models: the experts of a token are the first ones of all, sorted.
    ggml_tensor* const sorted = ggml_new_tensor_2d(context.get(), GGML_TYPE_I32, n_experts, p.n_tokens);
    ggml_tensor* const chosen = ggml_view_2d(context.get(), sorted, n_used, p.n_tokens, sorted->nb[1], 0);
    ggml_tensor* const result = ggml_mul_mat_id(context.get(), a, b, chosen);
    ggml_cgraph* const graph  = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, result);
    const Owned<ggml_backend_buffer_t> buffer(ggml_backend_alloc_ctx_tensors(context.get(), cpu()));
    ggml_backend_tensor_set(a, weights.data(), 0, ggml_nbytes(a));
    ggml_backend_tensor_set(b, columns.data(), 0, ggml_nbytes(b));
    ggml_backend_tensor_set(sorted, ids.data(), 0, ggml_nbytes(sorted));
    set_threads(p.n_threads);
    expect(ggml_backend_graph_compute(cpu(), graph) == GGML_STATUS_SUCCESS, "a product of experts");
    std::vector<float> values(static_cast<size_t>(m * n_used * p.n_tokens));
    ggml_backend_tensor_get(result, values.data(), 0, ggml_nbytes(result));
    return values;
}

// Columns that are quantised exactly, as in quantized-products.cpp.
std::vector<float> whole_columns(size_t n, std::mt19937& random) {
    std::uniform_int_distribution<int32_t> whole(-127, 127);
    std::vector<float>                     columns(n);
    for (float& value : columns) value = static_cast<float>(whole(random));
    for (size_t at = 0; at < n; at += 32) columns[at] = at % 64 == 0 ? 127.0f : -127.0f;
    return columns;
}

// The last expert is never chosen, and the first one by every second token.
std::vector<int32_t> choose(int64_t n_tokens, std::mt19937& random) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < n_tokens; ++i) {
        std::vector<int32_t> order(n_experts - 1);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin() + (i % 2 == 0 ? 1 : 0), order.end(), random);
        order.push_back(n_experts - 1);
        ids.insert(ids.end(), order.begin(), order.end());
    }
    return ids;
}

std::vector<float> slice(const std::vector<float>& values, int64_t first, int64_t n) {
    return {values.begin() + first, values.begin() + first + n};
}

void check(ggml_type type, int64_t k, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<float>              exact(static_cast<size_t>(n_experts * m * k));
    for (float& weight : exact) weight = normal(random);
    std::vector<uint8_t> weights(ggml_row_size(type, k) * static_cast<size_t>(n_experts * m));
    ggml_quantize_chunk(type, exact.data(), weights.data(), 0, n_experts * m, k, nullptr);
    ggml_get_type_traits(type)->to_float(weights.data(), exact.data(), n_experts * m * k);

    constexpr int64_t          n_most = 70;
    const std::vector<int32_t> ids    = choose(n_most, random);
    for (const int64_t n_columns : {int64_t{1}, n_used}) {
        const auto               columns = whole_columns(static_cast<size_t>(n_most * n_columns * k), random);
        const std::vector<float> all     = product_of({type, k, n_most, n_columns, 1}, weights, columns, ids);
        for (const int64_t n : {1, 2, 5, 16, 33, 70}) {
            const Experts            p{type, k, n, n_columns, 3};
            const std::vector<float> values = product_of(p, weights, slice(columns, 0, n * n_columns * k),
                                                         {ids.begin(), ids.begin() + n * n_experts});
            if (cpu_has_panels()) {
                expect(std::equal(values.begin(), values.end(), all.begin()), name(p) + ": the bits of 70 tokens");
            }
            for (int64_t j = 0; j < n * n_used; ++j) {
                const int64_t expert = ids[static_cast<size_t>(j / n_used * n_experts + j % n_used)];
                const int64_t column = j / n_used * n_columns + j % n_used % n_columns;
                expect_product({type, m, 1, k, 3}, slice(exact, expert * m * k, m * k), slice(columns, column * k, k),
                               slice(values, j * m, m));
            }
        }
    }
}

const Test experts("ggml: products of experts, of any number of tokens and threads, have the same bits", [] {
    std::mt19937 random(4);
    for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                                 GGML_TYPE_IQ4_NL, GGML_TYPE_MXFP4, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS}) {
        check(type, 512, random);
    }
});

}  // namespace
