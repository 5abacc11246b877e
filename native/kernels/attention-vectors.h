#pragma once
// Thread: any

// Vectors of floats for attention.cpp: AVX-512, or AVX2 with FMA and F16C.

#include "vec.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__F16C__)
#    define GGML_ATTENTION_512
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && !defined(__AVX512F__)
#    define GGML_ATTENTION_256
#endif

#if defined(GGML_ATTENTION_512) || defined(GGML_ATTENTION_256)

namespace ggml::cpu::attention {

constexpr int kCells      = 64;  // of a tile
constexpr int kTransposed = 16;  // cells that are transposed together

// Calls body with the constants 0, 1 ... N - 1, so that indexed arrays stay in registers.
template <class Body, int... I> inline void each(std::integer_sequence<int, I...>, const Body & body) {
    (body(std::integral_constant<int, I>()), ...);
}

template <int N, class Body> inline void each(const Body & body) {
    each(std::make_integer_sequence<int, N>(), body);
}

#    if defined(GGML_ATTENTION_512)

using Floats = __m512;
using Halves = __m256i;  // kLanes values in F16
using Shorts = __m512i;  // kShorts values in F16

constexpr int kLanes = 16;
constexpr int kFew   = 8;  // up to this many rows are multiplied together
constexpr int kBlock = 8;  // the rows that are multiplied together if there are more
// Vectors per row: as many sums as there are registers.
constexpr int vectors_beside(int rows) { return rows <= 6 ? 4 : 2; }

inline Floats load(const float * p) { return _mm512_loadu_ps(p); }
inline Floats load(const ggml_fp16_t * p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p)); }
inline void   store(float * p, Floats v) { _mm512_storeu_ps(p, v); }
inline void   store(float * p, Halves v) { _mm512_storeu_ps(p, _mm512_cvtph_ps(v)); }
inline void   store(ggml_fp16_t * p, Halves v) { _mm256_storeu_si256((__m256i *) p, v); }
inline Floats broadcast(float v) { return _mm512_set1_ps(v); }
inline Floats plus(Floats a, Floats b) { return _mm512_add_ps(a, b); }
inline Floats minus(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
inline Floats times(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats over(Floats a, Floats b) { return _mm512_div_ps(a, b); }
inline Floats plus_product(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
inline Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }
inline float  largest_of(Floats v) { return _mm512_reduce_max_ps(v); }
inline float  sum_of(Floats v) { return _mm512_reduce_add_ps(v); }

// The first n of 16 lanes.
inline __mmask16 first(int n) { return n >= 16 ? 0xFFFF : (1 << std::max(n, 0)) - 1; }
// The first n halves at p, then zeros.
inline Floats load_first(const ggml_fp16_t * p, int n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), p)); }
// The first n lanes of v; `behind` in the others.
inline Floats keep_first(Floats v, int n, float behind) { return _mm512_mask_mov_ps(broadcast(behind), first(n), v); }

constexpr int kShorts = 32;
inline __mmask32 first_shorts(int n) { return n >= 32 ? 0xFFFFFFFFu : ~(0xFFFFFFFFu << n); }
inline Shorts    load_shorts(const ggml_fp16_t * p, int n) { return _mm512_maskz_loadu_epi16(first_shorts(n), p); }
// Whether the first n halves of v have these bits.
inline bool first_are(Shorts v, int n, uint16_t bits) {
    return (_mm512_cmpeq_epi16_mask(v, _mm512_set1_epi16((short) bits)) | ~first_shorts(n)) == 0xFFFFFFFFu;
}

// Transposes sixteen halves, `offset` bytes into each of sixteen cells, to sixteen rows at a distance of kCells.
template <class T> inline void transpose(const char * const * cells, size_t offset, T * out) {
    __m512i a[8], b[8];
    each<8>([&](auto i) {
        const __m256i low  = _mm256_loadu_si256((const __m256i *) (cells[i] + offset));
        const __m256i high = _mm256_loadu_si256((const __m256i *) (cells[i + 8] + offset));
        a[i]               = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    });
    each<4>([&](auto i) {
        b[2 * i]     = _mm512_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm512_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    });
    each<2>([&](auto i) {
        a[4 * i]     = _mm512_unpacklo_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 1] = _mm512_unpackhi_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 2] = _mm512_unpacklo_epi32(b[4 * i + 1], b[4 * i + 3]);
        a[4 * i + 3] = _mm512_unpackhi_epi32(b[4 * i + 1], b[4 * i + 3]);
    });
    each<4>([&](auto i) {
        b[2 * i]     = _mm512_unpacklo_epi64(a[i], a[i + 4]);
        b[2 * i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 4]);
    });
    // b[i] now has number i of cells 0 to 7, number i + 8 of cells 0 to 7, and the same two of cells 8 to 15.
    each<8>([&](auto i) {
        const __m512i sorted = _mm512_shuffle_i64x2(b[i], b[i], 0xD8);
        store(out + i * kCells, _mm512_castsi512_si256(sorted));
        store(out + (i + 8) * kCells, _mm512_extracti64x4_epi64(sorted, 1));
    });
}

// Scales sixteen integers.
inline void store_scaled(ggml_fp16_t * p, __m128i bytes, float scale) {
    const Floats values = times(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), broadcast(scale));
    store(p, _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}

#    else

using Floats = __m256;
using Halves = __m128i;
using Shorts = __m256i;

constexpr int kLanes = 8;
constexpr int kFew   = 8;
constexpr int kBlock = 6;
constexpr int vectors_beside(int rows) { return rows == 1 ? 8 : rows == 2 ? 4 : rows <= 6 ? 2 : 1; }

inline Floats load(const float * p) { return _mm256_loadu_ps(p); }
inline Floats load(const ggml_fp16_t * p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p)); }
inline void   store(float * p, Floats v) { _mm256_storeu_ps(p, v); }
inline void   store(float * p, Halves v) { _mm256_storeu_ps(p, _mm256_cvtph_ps(v)); }
inline void   store(ggml_fp16_t * p, Halves v) { _mm_storeu_si128((__m128i *) p, v); }
inline Floats broadcast(float v) { return _mm256_set1_ps(v); }
inline Floats plus(Floats a, Floats b) { return _mm256_add_ps(a, b); }
inline Floats minus(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
inline Floats times(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline Floats over(Floats a, Floats b) { return _mm256_div_ps(a, b); }
inline Floats plus_product(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
inline Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }
inline float  largest_of(Floats v) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    four        = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
inline float sum_of(Floats v) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    four        = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

inline Floats load_first(const ggml_fp16_t * p, int n) {
    if (n >= kLanes) return load(p);
    ggml_fp16_t halves[kLanes] = {};
    memcpy(halves, p, std::max(n, 0) * sizeof(ggml_fp16_t));
    return load(halves);
}
inline Floats keep_first(Floats v, int n, float behind) {
    const __m256i first = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_blendv_ps(broadcast(behind), v, _mm256_castsi256_ps(first));
}

constexpr int kShorts = 16;
inline Shorts load_shorts(const ggml_fp16_t * p, int n) {
    if (n >= kShorts) return _mm256_loadu_si256((const __m256i *) p);
    ggml_fp16_t halves[kShorts] = {};
    memcpy(halves, p, n * sizeof(ggml_fp16_t));
    return _mm256_loadu_si256((const __m256i *) halves);
}
inline bool first_are(Shorts v, int n, uint16_t bits) {
    const uint32_t behind = n >= kShorts ? 0 : 0xFFFFFFFFu << (2 * n);  // two bits for each half
    const __m256i  same   = _mm256_cmpeq_epi16(v, _mm256_set1_epi16((short) bits));
    return ((uint32_t) _mm256_movemask_epi8(same) | behind) == 0xFFFFFFFFu;
}

// The same for eight halves of each of sixteen cells.
template <class T> inline void transpose(const char * const * cells, size_t offset, T * out) {
    __m256i a[8], b[8];
    each<8>([&](auto i) {
        const __m128i low  = _mm_loadu_si128((const __m128i *) (cells[i] + offset));
        const __m128i high = _mm_loadu_si128((const __m128i *) (cells[i + 8] + offset));
        a[i]               = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    });
    each<4>([&](auto i) {
        b[2 * i]     = _mm256_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm256_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    });
    each<2>([&](auto i) {
        a[4 * i]     = _mm256_unpacklo_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 1] = _mm256_unpackhi_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 2] = _mm256_unpacklo_epi32(b[4 * i + 1], b[4 * i + 3]);
        a[4 * i + 3] = _mm256_unpackhi_epi32(b[4 * i + 1], b[4 * i + 3]);
    });
    each<4>([&](auto i) {
        for (const bool odd : {false, true}) {
            const __m256i sorted = odd ? _mm256_unpackhi_epi64(a[i], a[i + 4]) : _mm256_unpacklo_epi64(a[i], a[i + 4]);
            T * const     row    = out + (2 * i + odd) * kCells;
            store(row, _mm256_castsi256_si128(sorted));
            store(row + kLanes, _mm256_extracti128_si256(sorted, 1));
        }
    });
}

inline void store_scaled(ggml_fp16_t * p, __m128i bytes, float scale) {
    for (int i = 0; i < 16; i += kLanes, bytes = _mm_srli_si128(bytes, kLanes)) {
        const Floats values = times(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), broadcast(scale));
        store(p + i, _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
    }
}

#    endif

}  // namespace ggml::cpu::attention

#endif
