#include "product.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace chasqui::test;

namespace {

std::vector<uint8_t> as_type(ggml_type type, const std::vector<float>& values) {
    const auto           n = static_cast<int64_t>(values.size());
    std::vector<uint8_t> bytes(ggml_row_size(type, n));
    ggml_quantize_chunk(type, values.data(), bytes.data(), 0, 1, n, nullptr);
    return bytes;
}

// Whole numbers of up to seven bits are what they are in all three types, so that only the additions round.
std::vector<float> whole_numbers(size_t size, std::mt19937& random) {
    std::uniform_int_distribution<int32_t> whole(-127, 127);
    std::vector<float>                     values(size);
    for (float& value : values) value = static_cast<float>(whole(random));
    return values;
}

void check(const Product& p, std::mt19937& random) {
    const std::vector<float> weights = whole_numbers(static_cast<size_t>(p.m * p.k), random);
    const std::vector<float> columns = whole_numbers(static_cast<size_t>((p.k + p.gap) * p.n * p.planes), random);
    expect_product(p, weights, columns, product_of(p, as_type(p.type, weights), columns));
}

const ggml_type all_types[]             = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};
const int64_t   all_numbers_of_columns[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 48, 200};

const Test products("ggml: products with weights of 16 and 32 bits, of any number of rows, columns and threads", [] {
    std::mt19937 random(1);
    for (const ggml_type type : all_types) {
        for (const int64_t m : {1, 9, 16, 37, 80}) {
            for (const int64_t n : all_numbers_of_columns) {
                for (const int n_threads : {1, 3}) {
                    check({type, m, n, 36, n_threads}, random);
                    check({type, m, n, 64, n_threads}, random);
                    check({type, m, n, 520, n_threads}, random);
                    check({type, m, n, 576, n_threads}, random);
                }
            }
        }
        // Enough to be shared out piece by piece, and so few rows that columns are shared out instead.
        for (const int64_t n : {7, 24, 100}) {
            check({type, 1030, n, 256, 3}, random);
            check({type, 1040, n, 544, 3}, random);
        }
        check({type, 48, 500, 256, 3}, random);
        check({type, 300, 100, 2080, 3}, random);
    }
});

const Test products_of_planes("ggml: products with columns in several planes, with gaps between them", [] {
    std::mt19937 random(2);
    for (const ggml_type type : all_types) {
        for (const int64_t n : {1, 3, 7}) check({type, 37, n, 64, 3, 5}, random);
        for (const int64_t n : {1, 3, 7}) check({type, 37, n, 64, 3, 5, 12}, random);
    }
});

const Test same_bits("ggml: a product of weights of 16 or 32 bits has the same bits, whatever is computed beside it", [] {
    // Elsewhere the kernels of llama.cpp compute one column otherwise than several.
    if (!cpu_has_panels()) return;
    std::mt19937                    random(3);
    std::normal_distribution<float> normal;
    constexpr int64_t               n_most = 200;
    // By panels, by rows as a whole and in chunks, and by neither.
    const Product shapes[] = {
        {{}, 85, n_most, 192, 1}, {{}, 84, n_most, 544, 1}, {{}, 84, n_most, 2080, 1}, {{}, 85, n_most, 1032, 1}};
    for (const ggml_type type : all_types) {
        for (Product many : shapes) {
            many.type = type;
            std::vector<float> weights(static_cast<size_t>(many.m * many.k));
            std::vector<float> columns(static_cast<size_t>(n_most * many.k));
            for (float& weight : weights) weight = normal(random);
            for (float& value : columns) value = normal(random);
            const std::vector<uint8_t> converted = as_type(type, weights);
            const std::vector<float>   all       = product_of(many, converted, columns);
            for (const int64_t n : all_numbers_of_columns) {
                const Product            few{type, many.m, n, many.k, 3};
                const std::vector<float> first(columns.begin(), columns.begin() + n * many.k);
                const std::vector<float> values = product_of(few, converted, first);
                expect(std::equal(values.begin(), values.end(), all.begin()), name(few) + ": the bits of 200 columns");
            }
        }
    }
});

// As panels convert them.
const Test unusual_halves("ggml: halves too small to be normal, infinite ones, and one that is no number", [] {
    constexpr int64_t  m = 32, k = 32;
    std::vector<float> weights(m * k, 0.0f);
    const auto         small = [](int64_t i) { return std::ldexp(1.0f, static_cast<int>(-24 + i % 10)); };
    for (int64_t i = 0; i < m; ++i) weights[static_cast<size_t>(i * k + i % k)] = small(i);
    weights[0]     = INFINITY;
    weights[k + 1] = NAN;
    const std::vector<float> values =
        product_of({GGML_TYPE_F16, m, 1, k, 1}, as_type(GGML_TYPE_F16, weights), std::vector<float>(k, 1.0f));
    expect(std::isinf(values[0]) && std::isnan(values[1]), "infinity and no number");
    for (int64_t i = 2; i < m; ++i) expect_equal(values[static_cast<size_t>(i)], small(i));
});

}  // namespace
