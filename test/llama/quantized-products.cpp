#include "product.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace chasqui::test;

namespace {

const ggml_type all_types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_IQ4_NL,
                               GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4};

// Tiles of each width, one alone and several with one of another width at the end.
const int64_t all_numbers_of_columns[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 26, 31, 48};

struct Weights {
    std::vector<uint8_t> quantized;
    std::vector<float>   exact;  // of the quantized ones
};

// Quantizing takes longer than the products.
Weights quantize(ggml_type type, int64_t m, int64_t k, std::vector<float> weights) {
    std::vector<uint8_t> quantized(ggml_row_size(type, k) * static_cast<size_t>(m));
    ggml_quantize_chunk(type, weights.data(), quantized.data(), 0, m, k, nullptr);
    ggml_get_type_traits(type)->to_float(quantized.data(), weights.data(), m * k);
    return {std::move(quantized), std::move(weights)};
}

// Integer columns with blocks that reach 127 are quantized exactly, so only the order of additions can differ.
void check(const Product& p, const Weights& weights, const std::vector<float>& columns) {
    expect_product(p, weights.exact, columns, product_of(p, weights.quantized, columns));
}

// With each number of columns in `all_numbers_of_columns`, by one thread and by three.
void check(ggml_type type, int64_t m, int64_t k, std::mt19937& random) {
    std::normal_distribution<float>        normal;
    std::uniform_int_distribution<int32_t> whole(-127, 127);
    std::vector<float>                     values(static_cast<size_t>(m * k));
    for (float& weight : values) weight = normal(random);
    const Weights weights = quantize(type, m, k, std::move(values));
    for (const int64_t n : all_numbers_of_columns) {
        std::vector<float> columns(static_cast<size_t>(n * k));
        for (float& value : columns) value = static_cast<float>(whole(random));
        for (size_t at = 0; at < columns.size(); at += 32) columns[at] = at % 64 == 0 ? 127.0f : -127.0f;
        for (const int n_threads : {1, 3}) check({type, m, n, k, n_threads}, weights, columns);
    }
}

const Test products("ggml: products with quantised weights, of any number of rows, columns and threads", [] {
    std::mt19937 random(1);
    for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                                 GGML_TYPE_IQ4_NL, GGML_TYPE_MXFP4}) {
        for (const int64_t m : {16, 37, 80}) {
            for (const int64_t k : {96, 896}) check(type, m, k, random);
        }
    }
});

const Test products_of_super_blocks("ggml: products with weights quantised in super-blocks of 256", [] {
    std::mt19937 random(2);
    for (const ggml_type type : {GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS}) {
        for (const int64_t m : {9, 16, 37, 80}) {
            for (const int64_t k : {256, 1536}) check(type, m, k, random);
        }
    }
});

// The largest products that there can be, all of one sign, and as many of them as add up before they are scaled: the first
// weight of 32 says what the others are worth at most.
const Test largest_products("ggml: products with quantised weights that are as large as they can be", [] {
    constexpr int64_t m = 16, k = 512;
    for (const ggml_type type : all_types) {
        for (const auto& [first, others] : {std::pair{1.0f, 1.0f}, {-1.0f, -1.0f}, {-1.0f, 0.97f}, {1.0f, -0.97f}}) {
            std::vector<float> weights(m * k, others);
            for (size_t at = 0; at < weights.size(); at += 32) weights[at] = first;
            const Weights quantized = quantize(type, m, k, std::move(weights));
            for (const int64_t n : {1, 3, 8, 9}) {
                check({type, m, n, k, 1}, quantized, std::vector<float>(static_cast<size_t>(n * k), 127.0f));
                check({type, m, n, k, 1}, quantized, std::vector<float>(static_cast<size_t>(n * k), -127.0f));
            }
        }
    }
});

const Test same_bits("ggml: a product of quantised weights has the same bits, whatever it is computed beside", [] {
    // Elsewhere the kernels of llama.cpp compute one column otherwise than several.
    if (!cpu_has_panels()) return;
    std::mt19937                    random(3);
    std::normal_distribution<float> normal;
    constexpr int64_t               m = 37, k = 1536, n_most = 48;
    for (const ggml_type type : all_types) {
        std::vector<float> weights(m * k), columns(n_most * k);
        for (float& weight : weights) weight = normal(random);
        for (float& value : columns) value = normal(random);
        const std::vector<uint8_t> quantized = quantize(type, m, k, std::move(weights)).quantized;
        const std::vector<float>   all       = product_of({type, m, n_most, k, 1}, quantized, columns);
        for (const int64_t n : all_numbers_of_columns) {
            const Product            few{type, m, n, k, 3};
            const std::vector<float> first(columns.begin(), columns.begin() + n * k);
            const std::vector<float> values = product_of(few, quantized, first);
            expect(std::equal(values.begin(), values.end(), all.begin()), name(few) + ": the bits of 48 columns");
        }
    }
});

}  // namespace
