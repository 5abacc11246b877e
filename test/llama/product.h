// Products of weights and columns by ggml's CPU backend, for tests.
#pragma once

#include "../native/check.h"
#include "on-cpu.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace chasqui::test {

// m rows of k weights, times planes x n columns, each with room for k + gap values.
struct Product {
    ggml_type type;
    int64_t   m, n, k;
    int       n_threads;
    int64_t   planes = 1, gap = 0;
};

inline std::string name(const Product& p) {
    return std::string(ggml_type_name(p.type)) + " " + std::to_string(p.m) + " x " + std::to_string(p.k) + " times " +
           std::to_string(p.planes) + " x " + std::to_string(p.n) + ", " + std::to_string(p.n_threads) + " threads";
}

// `weights`: as the type has them.
inline std::vector<float> product_of(const Product& p, const std::vector<uint8_t>& weights,
                                     const std::vector<float>& columns) {
    const Owned<ggml_context*> context(ggml_init({1 << 20, nullptr, true}));
    ggml_tensor* const a      = ggml_new_tensor_2d(context.get(), p.type, p.k, p.m);
    ggml_tensor* const all    = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, p.k + p.gap, p.n, p.planes);
    ggml_tensor* const b      = ggml_view_3d(context.get(), all, p.k, p.n, p.planes, all->nb[1], all->nb[2], 0);
    ggml_tensor* const result = ggml_mul_mat(context.get(), a, b);
    ggml_cgraph* const graph  = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, result);
    const Owned<ggml_backend_buffer_t> buffer(ggml_backend_alloc_ctx_tensors(context.get(), cpu()));
    ggml_backend_tensor_set(a, weights.data(), 0, ggml_nbytes(a));
    ggml_backend_tensor_set(all, columns.data(), 0, ggml_nbytes(all));
    set_threads(p.n_threads);
    expect(ggml_backend_graph_compute(cpu(), graph) == GGML_STATUS_SUCCESS, "a product");
    std::vector<float> values(static_cast<size_t>(p.m * p.n * p.planes));
    ggml_backend_tensor_get(result, values.data(), 0, ggml_nbytes(result));
    return values;
}

// Compares with double precision. The inputs are chosen so that only additions round.
inline void expect_product(const Product& p, const std::vector<float>& weights, const std::vector<float>& columns,
                           const std::vector<float>& values) {
    for (int64_t j = 0; j < p.n * p.planes; ++j) {
        for (int64_t i = 0; i < p.m; ++i) {
            double expected = 0, size = 0;
            for (int64_t l = 0; l < p.k; ++l) {
                const double term = static_cast<double>(weights[static_cast<size_t>(i * p.k + l)]) *
                                    static_cast<double>(columns[static_cast<size_t>(j * (p.k + p.gap) + l)]);
                expected += term;
                size += std::abs(term);
            }
            const auto value = static_cast<double>(values[static_cast<size_t>(j * p.m + i)]);
            if (std::abs(value - expected) <= 1e-6 * size) continue;
            fail(name(p) + ": row " + std::to_string(i) + " of column " + std::to_string(j) + " is " +
                 std::to_string(value) + " instead of " + std::to_string(expected));
        }
    }
}

}  // namespace chasqui::test
