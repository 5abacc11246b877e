#pragma once
// Thread: any

// The vector operations of attention.cpp.

#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"
#include "attention-vectors.h"

#if defined(GGML_ATTENTION_512) || defined(GGML_ATTENTION_256)

namespace ggml::cpu::attention {

inline void multiply_by(float * values, int64_t n, float factor) {
    for (int64_t i = 0; i < n; i += kLanes) {
        store(values + i, times(load(values + i), broadcast(factor)));
    }
}

inline void to_halves(const block_q8_0 * block, ggml_fp16_t * out, int64_t n) {
    for (int64_t i = 0; i < n; i += QK8_0, ++block, out += QK8_0) {
        const float scale = GGML_CPU_FP16_TO_FP32(block->d);
        for (int half = 0; half < 32; half += 16) {
            store_scaled(out + half, _mm_loadu_si128((const __m128i *) (block->qs + half)), scale);
        }
    }
}

inline void to_halves(const block_q4_0 * block, ggml_fp16_t * out, int64_t n) {
    const __m128i four = _mm_set1_epi8(15), middle = _mm_set1_epi8(8);
    for (int64_t i = 0; i < n; i += QK4_0, ++block, out += QK4_0) {
        const float   scale = GGML_CPU_FP16_TO_FP32(block->d);
        const __m128i both  = _mm_loadu_si128((const __m128i *) block->qs);
        store_scaled(out, _mm_sub_epi8(_mm_and_si128(both, four), middle), scale);
        store_scaled(out + 16, _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(both, 4), four), middle), scale);
    }
}

// results[i][j] = sum over l of factors[i][l] * rows[l][j], or += with `Adds`. Sums are always in the order of l.
template <class T> struct Product {
    const float * factors;
    int64_t       factors_stride;  // floats
    const T *     rows;
    size_t        rows_stride;  // bytes
    float *       results;
    int64_t       results_stride;  // floats
    int64_t       n_factors, n_inner, n_columns;
    size_t        ahead;  // bytes from a row to the one to prefetch; used with From::memory only
};

// Whether rows are in the KV cache, which must be prefetched, or in a thread's buffer.
enum class From { buffer, memory };

template <int Rows, int Vectors, bool Adds, From Where, class T>
inline void multiply_block(const Product<T> & p, int64_t column) {
    Floats        sums[Rows][Vectors];
    const char *  row     = (const char *) (p.rows + column);
    const float * factors = p.factors;
    float *       results = p.results + column;
    each<Rows>([&](auto i) {
        each<Vectors>([&](auto v) {
            sums[i][v] = Adds ? load(results + i * p.results_stride + v * kLanes) : broadcast(0);
        });
    });
    for (int64_t l = 0; l < p.n_inner; ++l, row += p.rows_stride, ++factors) {
        Floats of_row[Vectors];
        each<Vectors>([&](auto v) { of_row[v] = load((const T *) row + v * kLanes); });
        if constexpr (Where == From::memory) {
            for (size_t at = 0; at < Vectors * kLanes * sizeof(T); at += 64) _mm_prefetch(row + p.ahead + at, _MM_HINT_T1);
        }
        each<Rows>([&](auto i) {
            const Floats factor = broadcast(factors[i * p.factors_stride]);
            each<Vectors>([&](auto v) { sums[i][v] = plus_product(sums[i][v], factor, of_row[v]); });
        });
    }
    each<Rows>([&](auto i) {
        each<Vectors>([&](auto v) { store(results + i * p.results_stride + v * kLanes, sums[i][v]); });
    });
}

// Multiplies the columns from `column` on: `Vectors` vectors together, and the remainder by fewer.
template <int Rows, int Vectors, bool Adds, From Where, class T>
void multiply_columns(const Product<T> & p, int64_t column) {
    for (; column + Vectors * kLanes <= p.n_columns; column += Vectors * kLanes) {
        multiply_block<Rows, Vectors, Adds, Where>(p, column);
    }
    if constexpr (Vectors > 1) multiply_columns<Rows, Vectors / 2, Adds, Where>(p, column);
}

template <bool Adds, From Where, class T> void multiply(Product<T> p) {
    while (p.n_factors > 0) {
        const int64_t n = p.n_factors <= kFew ? p.n_factors : kBlock;
        each<std::max(kFew, kBlock)>([&](auto i) {
            if (n == i + 1) multiply_columns<i + 1, vectors_beside(i + 1), Adds, Where>(p, 0);
        });
        p.factors += n * p.factors_stride;
        p.results += n * p.results_stride;
        p.n_factors -= n;
    }
}

inline Floats tanh(Floats x) {
    const Floats power = ggml_v_expf(plus(x, x));
    return minus(broadcast(1), over(broadcast(2), plus(power, broadcast(1))));
}

// A row's partial softmax over some cells: the largest score and the sum of e^(score - largest). The values are separate.
struct Part {
    float most = -INFINITY;
    float sum  = 0;
};

// Adds a part to another. The order of the cells keeps a row's bits independent of the threads.
inline void add(Part & to, float * to_values, const Part & part, const float * values, int64_t width) {
    if (part.most == -INFINITY) return;
    if (to.most == -INFINITY) {
        to = part;
        memcpy(to_values, values, width * sizeof(float));
        return;
    }
    if (part.most > to.most) {
        const float factor = expf(to.most - part.most);
        multiply_by(to_values, width, factor);
        to.sum *= factor;
        to.most = part.most;
    }
    const float factor = part.most == to.most ? 1 : expf(part.most - to.most);
    for (int64_t i = 0; i < width; i += kLanes) {
        store(to_values + i, plus_product(load(to_values + i), load(values + i), broadcast(factor)));
    }
    to.sum = fmaf(part.sum, factor, to.sum);
}

// The state of a row during a chunk.
struct Row {
    const ggml_fp16_t * mask;  // of all cells, or nullptr
    float               slope;
    bool                hidden, masked;  // whether the mask hides all of the tile's cells, and whether it changes any
    float               most;
    alignas(64) float   sums[kLanes];
};

// Reads the mask of n cells, and prefetches that of the next tile.
inline void look_at_mask(Row & row, int64_t cell, int n) {
    bool hidden = true, clear = true;
    for (int i = 0; i < n; i += kShorts) {
        const ggml_fp16_t * const at = row.mask + cell + i;
        _mm_prefetch((const char *) (at + kCells), _MM_HINT_T1);
        const Shorts mask = load_shorts(at, n - i);
        hidden &= first_are(mask, n - i, 0xFC00);
        clear &= first_are(mask, n - i, 0);
    }
    row.hidden = hidden;
    row.masked = !clear;
}

// Reduces vectors pairwise.
template <int N, class Operation> inline Floats over_all(const Floats (&v)[N], const Operation & operation) {
    if constexpr (N == 2) return operation(v[0], v[1]);
    else {
        Floats pairs[N / 2];
        each<N / 2>([&](auto i) { pairs[i] = operation(v[2 * i], v[2 * i + 1]); });
        return over_all(pairs, operation);
    }
}

// Replaces the scores of n cells by e^(score - largest so far), and rescales the row's earlier results to the new maximum.
inline void softmax_step(Row & row, float * scores, int64_t cell, int n, float cap, float * values, int64_t width) {
    constexpr int vectors = kCells / kLanes;
    Floats        s[vectors];
    each<vectors>([&](auto i) { s[i] = load(scores + i * kLanes); });
    if (cap != 0) each<vectors>([&](auto i) { s[i] = times(broadcast(cap), tanh(s[i])); });
    if (row.masked) {
        each<vectors>([&](auto i) {
            const Floats mask = load_first(row.mask + cell + i * kLanes, n - i * kLanes);
            s[i]              = plus_product(s[i], broadcast(row.slope), mask);
        });
    }
    if (n < kCells) each<vectors>([&](auto i) { s[i] = keep_first(s[i], n - i * kLanes, -INFINITY); });
    const float most = largest_of(over_all(s, [](Floats a, Floats b) { return larger(a, b); }));
    if (most > row.most) {
        if (row.most != -INFINITY) {
            const float factor = expf(row.most - most);
            multiply_by(values, width, factor);
            multiply_by(row.sums, kLanes, factor);
        }
        row.most = most;
    }
    each<vectors>([&](auto i) {
        s[i] = row.most == -INFINITY ? broadcast(0) : ggml_v_expf(minus(s[i], broadcast(row.most)));
        store(scores + i * kLanes, s[i]);
    });
    store(row.sums, plus(load(row.sums), over_all(s, [](Floats a, Floats b) { return plus(a, b); })));
}

}  // namespace ggml::cpu::attention

#endif
