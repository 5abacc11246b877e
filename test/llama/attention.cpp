#include "../native/check.h"
#include "on-cpu.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace chasqui::test;

namespace {

constexpr int64_t n_kv_heads = 2;

// Several sequences with their own cells and different values.
struct Attention {
    int64_t width, n_heads, n_rows, n_cells, n_sequences;
    int     n_threads;
    float   max_bias = 0, softcap = 0;
    float   strength   = 1;  // of the queries: scores of hundreds cannot be raised to a power as they are
    bool    with_sinks = false;
    ggml_type type     = GGML_TYPE_F16;  // of keys and values
    bool    by_turns   = false;  // each row is of a conversation of its own, of which every so many cells are
};

std::string name(const Attention& a) {
    return std::to_string(a.n_rows) + " rows of width " + std::to_string(a.width) + " and " +
           std::to_string(a.n_heads) + " heads behind " + std::to_string(a.n_cells) + " cells, " +
           std::to_string(a.n_sequences) + " sequences, " + std::to_string(a.n_threads) + " threads, bias " +
           std::to_string(a.max_bias) + ", cap " + std::to_string(a.softcap) + ", strength " +
           std::to_string(a.strength) + ", " + ggml_type_name(a.type) + (a.by_turns ? ", by turns" : "");
}

struct Values {
    std::vector<float>       queries;
    std::vector<ggml_fp16_t> keys, values, mask;
    std::vector<float>       sinks;  // one for each head, or none
};

constexpr int64_t n_cells_of_a_turn = 50;

// The last rows of a sequence. 130 cells of another sequence separate its cells: from cell 40, in the first block of
// 64, to cell 170, in the third block.
bool is_visible(const Attention& a, int64_t row, int64_t cell) {
    if (a.by_turns) return cell / n_cells_of_a_turn % a.n_rows == row;
    return cell <= a.n_cells - a.n_rows + row && (cell < 40 || cell >= 170);
}

std::vector<float> as_floats(const std::vector<ggml_fp16_t>& halves) {
    std::vector<float> floats(halves.size());
    ggml_fp16_to_fp32_row(halves.data(), floats.data(), static_cast<int64_t>(halves.size()));
    return floats;
}

std::vector<uint8_t> stored(const Attention& a, const std::vector<ggml_fp16_t>& halves) {
    const int64_t        n = static_cast<int64_t>(halves.size()) / a.width;
    std::vector<uint8_t> bytes(ggml_row_size(a.type, a.width) * static_cast<size_t>(n));
    ggml_quantize_chunk(a.type, as_floats(halves).data(), bytes.data(), 0, n, a.width, nullptr);
    return bytes;
}

std::vector<float> as_stored(const Attention& a, const std::vector<ggml_fp16_t>& halves) {
    if (a.type == GGML_TYPE_F16) return as_floats(halves);
    std::vector<float>       floats(halves.size());
    std::vector<ggml_fp16_t> rounded(halves.size());
    ggml_get_type_traits(a.type)->to_float(stored(a, halves).data(), floats.data(), static_cast<int64_t>(halves.size()));
    ggml_fp32_to_fp16_row(floats.data(), rounded.data(), static_cast<int64_t>(halves.size()));
    return as_floats(rounded);
}

Values random_values(const Attention& a, std::mt19937& random) {
    std::normal_distribution<float> normal;
    Values                          made;
    made.queries.resize(static_cast<size_t>(a.width * a.n_rows * a.n_heads * a.n_sequences));
    for (float& value : made.queries) value = a.strength * normal(random);
    for (auto* const halves : {&made.keys, &made.values}) {
        halves->resize(static_cast<size_t>(a.width * a.n_cells * n_kv_heads * a.n_sequences));
        for (ggml_fp16_t& half : *halves) half = ggml_fp32_to_fp16(normal(random));
    }
    if (a.with_sinks) {
        for (int64_t head = 0; head < a.n_heads; ++head) made.sinks.push_back(normal(random));
    }
    for (int64_t row = 0; row < a.n_rows; ++row) {
        for (int64_t cell = 0; cell < a.n_cells; ++cell) {
            const float distance = static_cast<float>(cell - (a.n_cells - a.n_rows + row)) / 64;
            const float bias = a.max_bias > 0 ? distance : 0;
            made.mask.push_back(ggml_fp32_to_fp16(is_visible(a, row, cell) ? bias : -INFINITY));
        }
    }
    return made;
}

template <typename T>
void fill(ggml_tensor* tensor, const std::vector<T>& values) {
    ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
}

std::vector<float> computed(const Attention& a, const Values& from) {
    const Owned<ggml_context*> context(ggml_init({1 << 20, nullptr, true}));
    ggml_tensor* const q =
        ggml_new_tensor_4d(context.get(), GGML_TYPE_F32, a.width, a.n_rows, a.n_heads, a.n_sequences);
    const auto         cells  = [&] {
        return ggml_new_tensor_4d(context.get(), a.type, a.width, a.n_cells, n_kv_heads, a.n_sequences);
    };
    ggml_tensor* const k    = cells();
    ggml_tensor* const v    = cells();
    ggml_tensor* const mask = ggml_new_tensor_2d(context.get(), GGML_TYPE_F16, a.n_cells, a.n_rows);
    const float        scale  = 1 / std::sqrt(static_cast<float>(a.width));
    ggml_tensor* const result = ggml_flash_attn_ext(context.get(), q, k, v, mask, scale, a.max_bias, a.softcap);
    ggml_tensor* const sinks  = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, a.n_heads);
    if (a.with_sinks) ggml_flash_attn_ext_add_sinks(result, sinks);
    ggml_cgraph* const graph  = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, result);
    const Owned<ggml_backend_buffer_t> buffer(ggml_backend_alloc_ctx_tensors(context.get(), cpu()));
    fill(q, from.queries);
    fill(k, stored(a, from.keys));
    fill(v, stored(a, from.values));
    fill(mask, from.mask);
    if (a.with_sinks) fill(sinks, from.sinks);
    set_threads(a.n_threads);
    expect(ggml_backend_graph_compute(cpu(), graph) == GGML_STATUS_SUCCESS, "an attention");
    std::vector<float> values(static_cast<size_t>(ggml_nelements(result)));
    ggml_backend_tensor_get(result, values.data(), 0, ggml_nbytes(result));
    return values;
}

// How much of the mask a head takes, as llama.cpp's ALiBi has it: heads beyond a power of two lie between the others.
double slope(const Attention& a, int64_t head) {
    if (a.max_bias == 0) return 1;
    const double power = std::pow(2.0, std::floor(std::log2(static_cast<double>(a.n_heads))));
    const double index = static_cast<double>(head);
    return std::pow(2.0, -a.max_bias * (index < power ? (index + 1) / power : (2 * (index - power) + 1) / 2 / power));
}

struct Row {
    int64_t sequence, row, head;
};

struct ExactValues {
    std::vector<float> queries, keys, values, mask, sinks;
};

std::vector<double> expected_row(const Attention& a, const ExactValues& from, const Row& of) {
    const int64_t first_cell = (of.sequence * n_kv_heads + of.head / (a.n_heads / n_kv_heads)) * a.n_cells;
    const float*  query = &from.queries[static_cast<size_t>(((of.sequence * a.n_heads + of.head) * a.n_rows + of.row) *
                                                           a.width)];
    std::vector<double> scores;
    double              most = a.with_sinks ? from.sinks[static_cast<size_t>(of.head)] : -INFINITY;
    for (int64_t cell = 0; cell < a.n_cells; ++cell) {
        const float* key   = &from.keys[static_cast<size_t>((first_cell + cell) * a.width)];
        double       score = 0;
        for (int64_t i = 0; i < a.width; ++i) score += static_cast<double>(query[i]) * key[i];
        score /= std::sqrt(static_cast<double>(a.width));
        if (a.softcap > 0) score = a.softcap * std::tanh(score / a.softcap);
        score += slope(a, of.head) * from.mask[static_cast<size_t>(of.row * a.n_cells + cell)];
        most = std::max(most, score);
        scores.push_back(score);
    }
    double sum = a.with_sinks ? std::exp(from.sinks[static_cast<size_t>(of.head)] - most) : 0;
    std::vector<double> values(static_cast<size_t>(a.width));
    for (int64_t cell = 0; cell < a.n_cells; ++cell) {
        const float* value = &from.values[static_cast<size_t>((first_cell + cell) * a.width)];
        const double share = std::exp(scores[static_cast<size_t>(cell)] - most);
        sum += share;
        for (int64_t i = 0; i < a.width; ++i) values[static_cast<size_t>(i)] += share * value[i];
    }
    for (double& value : values) value /= sum;
    return values;
}

// Whether it is computed by our own kernel.
bool is_ours(const Attention& a) { return floats_of_a_vector() > 0 && a.width % floats_of_a_vector() == 0; }

// llama.cpp's own rounds queries to halves, or quantises them beside quantised keys, and adds up values in halves.
double tolerance_of(const Attention& a) {
    if (is_ours(a)) return 1e-3;
    return a.type == GGML_TYPE_F16 ? 1e-2 : 4e-2;
}

void check_row(const Attention& a, const ExactValues& from, const Row& of, const float* values) {
    const std::vector<double> expected  = expected_row(a, from, of);
    const double              tolerance = tolerance_of(a);
    for (size_t i = 0; i < expected.size(); ++i) {
        if (std::abs(static_cast<double>(values[i]) - expected[i]) <= tolerance) continue;
        fail(name(a) + ": number " + std::to_string(i) + " of sequence " + std::to_string(of.sequence) + ", row " +
             std::to_string(of.row) + ", head " + std::to_string(of.head) + " is " + std::to_string(values[i]) +
             " instead of " + std::to_string(expected[i]));
    }
}

void check(const Attention& a, std::mt19937& random) {
    const Values             made   = random_values(a, random);
    const std::vector<float> values = computed(a, made);
    const float*             at     = values.data();
    const ExactValues from = {made.queries, as_stored(a, made.keys), as_stored(a, made.values), as_floats(made.mask), made.sinks};
    for (int64_t sequence = 0; sequence < a.n_sequences; ++sequence) {
        for (int64_t row = 0; row < a.n_rows; ++row) {
            for (int64_t head = 0; head < a.n_heads; ++head, at += a.width) {
                check_row(a, from, {sequence, row, head}, at);
            }
        }
    }
}

Attention with(Attention a, float max_bias, float softcap, float strength = 1, bool with_sinks = false) {
    a.max_bias   = max_bias;
    a.softcap    = softcap;
    a.strength   = strength;
    a.with_sinks = with_sinks;
    return a;
}

const Test attention("ggml: attention of any number of rows and cells, with masks, biases, caps and sinks", [] {
    std::mt19937 random(4);
    for (const int64_t width : {40, 64, 76, 80, 128}) {
        for (const int64_t n_rows : {1, 2, 3, 16, 21, 64, 100}) {
            for (const int64_t n_cells : {100, 256, 333}) {
                const Attention a = {width, 6, n_rows, n_cells, 1, n_cells == 100 ? 1 : 3};
                for (const float max_bias : {0.0f, 8.0f}) check(with(a, max_bias, max_bias * 4), random);
                check(with(a, 0, 0, 1, true), random);
                if (n_rows >= 16 && width % 16 == 0) check(with(a, 0, 0, 40), random);
            }
        }
    }
});

const Test attention_of_widths("ggml: attention of heads of every common width, of a step and of several tokens", [] {
    std::mt19937 random(6);
    for (const int64_t width : {32, 40, 72, 80, 96, 112, 128, 192, 256}) {
        for (const int64_t n_rows : {1, 3, 11}) {
            const Attention a = {width, 14, n_rows, 300, 1, 2};
            check(with(a, 0, n_rows == 1 ? 2.0f : 0.0f, 1, n_rows == 3), random);
        }
    }
});

const Test attention_of_quantised_cells("ggml: attention to quantised keys and values", [] {
    std::mt19937 random(9);
    for (const ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1, GGML_TYPE_IQ4_NL}) {
        for (const int64_t n_rows : {1, 11}) {
            Attention a = {96, 14, n_rows, 300, 2, 2};
            a.type      = type;
            check(a, random);
        }
    }
});

const Test attention_by_turns("ggml: attention of rows of several conversations, whose cells lie between one another", [] {
    std::mt19937 random(7);
    for (const int64_t n_rows : {2, 5, 12}) {
        for (const int64_t n_heads : {2, 14}) {
            Attention a = {64, n_heads, n_rows, 600, 1, 3};
            a.by_turns  = true;
            check(with(a, 8, 0, 1, n_rows == 5), random);
        }
    }
});

// One row of one sequence, and behind its cells some that are hidden from it.
Values alone(const Attention& a, const Values& from, const Row& of, int64_t n_hidden) {
    Values made;
    for (int64_t head = 0; head < a.n_heads; ++head) {
        const auto query =
            from.queries.begin() + ((of.sequence * a.n_heads + head) * a.n_rows + of.row) * a.width;
        made.queries.insert(made.queries.end(), query, query + a.width);
    }
    for (const auto part : {&Values::keys, &Values::values}) {
        for (int64_t head = 0; head < n_kv_heads; ++head) {
            const auto cells = (from.*part).begin() + (of.sequence * n_kv_heads + head) * a.n_cells * a.width;
            (made.*part).insert((made.*part).end(), cells, cells + a.n_cells * a.width);
            (made.*part).resize((made.*part).size() + static_cast<size_t>(n_hidden * a.width));
        }
    }
    const auto mask = from.mask.begin() + of.row * a.n_cells;
    made.mask.assign(mask, mask + a.n_cells);
    made.mask.resize(made.mask.size() + static_cast<size_t>(n_hidden), ggml_fp32_to_fp16(-INFINITY));
    made.sinks = from.sinks;
    return made;
}

void check_same_bits(const Attention& a, std::mt19937& random) {
    const Values             from = random_values(a, random);
    const std::vector<float> all  = computed(a, from);
    auto                     at   = all.begin();
    for (int64_t sequence = 0; sequence < a.n_sequences; ++sequence) {
        for (int64_t row = 0; row < a.n_rows; ++row, at += a.n_heads * a.width) {
            for (const int n_threads : {1, 2, 5}) {
                for (const int64_t n_hidden : {0, 300}) {
                    Attention single   = a;
                    single.n_rows      = 1;
                    single.n_sequences = 1;
                    single.n_cells += n_hidden;
                    single.n_threads = n_threads;
                    const std::vector<float> values = computed(single, alone(a, from, {sequence, row, 0}, n_hidden));
                    expect(std::equal(values.begin(), values.end(), at),
                           name(a) + ": the bits of row " + std::to_string(row) + " of sequence " +
                               std::to_string(sequence) + " alone");
                }
            }
        }
    }
}

const Test same_bits("ggml: a row of attention has the same bits, whatever it is computed beside and by how many", [] {
    if (floats_of_a_vector() == 0) return;  // there llama.cpp parts the cells among the threads
    std::mt19937 random(8);
    for (const int64_t n_rows : {1, 3, 40}) {
        for (const int64_t n_sequences : {1, 3}) {
            if (n_rows * n_sequences > 40) continue;
            check_same_bits({64, 14, n_rows, 1100, n_sequences, 3}, random);
            check_same_bits(with({80, 4, n_rows, 333, n_sequences, 2}, 8, 20, 1, true), random);
        }
    }
});

const Test attention_of_steps("ggml: attention of a step of one sequence and of several, behind many cells", [] {
    std::mt19937 random(5);
    for (const int64_t n_heads : {2, 6, 14, 150}) {
        for (const int64_t n_sequences : {1, 3}) {
            for (const int64_t n_cells : {511, 512, 600, 1100}) {
                for (const int n_threads : {1, 3}) {
                    const Attention a = {64, n_heads, 1, n_cells, n_sequences, n_threads};
                    for (const float max_bias : {0.0f, 8.0f}) check(with(a, max_bias, 0, 1, n_cells == 600), random);
                }
            }
        }
    }
});

}  // namespace
