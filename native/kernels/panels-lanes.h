#pragma once
// Thread: any

// Vectors of 32-bit lanes for panels.cpp, one lane for each row of a panel.

#include "simd-mappings.h"

#include <cstddef>
#include <cstdint>

// GGML_PANELS_DOT: dot products of bytes (VNNI). Without them, pairs of products are added in 16 bits.
#if defined(__AVX512F__) && defined(__AVX512BW__)
#    define GGML_LANES_512
#    if defined(__AVX512VNNI__)
#        define GGML_PANELS_DOT
#    endif
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#    define GGML_LANES_256
#    if defined(__AVXVNNI__)
#        define GGML_PANELS_DOT
#    endif
#endif

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

namespace ggml::cpu::panels {

// Keeps the order of additions. Compilers choose another one that needs more registers than there are.
template <class V> inline V in_this_order(V sum) {
#    if defined(__GNUC__)
    __asm__("" : "+x"(sum));
#    endif
    return sum;
}

// Lanes of 32 bits, one for each row of a panel.
#    if defined(GGML_LANES_512)

constexpr int kLanes   = 16;
constexpr int kColumns = 8;  // of a tile: sums, scaled sums and results need a register each

using Ints   = __m512i;
using Floats = __m512;

inline Ints   load(const void * p) { return _mm512_loadu_si512(p); }
inline Floats load_floats(const float * p) { return _mm512_loadu_ps(p); }
inline void   store(void * p, Ints v) { _mm512_storeu_si512(p, v); }
inline void   store(float * p, Floats v) { _mm512_storeu_ps(p, v); }
inline Ints   all(int32_t v) { return _mm512_set1_epi32(v); }
inline Floats all(float v) { return _mm512_set1_ps(v); }
inline Ints   bytes(int v) { return _mm512_set1_epi8((char) v); }
inline Ints   masked(Ints a, Ints b) { return _mm512_and_si512(a, b); }
inline Ints   joined(Ints a, Ints b) { return _mm512_or_si512(a, b); }
inline Ints   flipped(Ints a, Ints b) { return _mm512_xor_si512(a, b); }
template <int N> inline Ints right(Ints v) { return _mm512_srli_epi32(v, N); }
template <int N> inline Ints left(Ints v) { return _mm512_slli_epi32(v, N); }
template <int N> inline Ints right_signed(Ints v) { return _mm512_srai_epi32(v, N); }
inline Ints   plus(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
inline Ints   minus(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
inline Ints   look_up(__m128i table, Ints v) { return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), v); }
inline Ints   low_dwords(Ints a, Ints b) { return _mm512_unpacklo_epi32(a, b); }
inline Ints   high_dwords(Ints a, Ints b) { return _mm512_unpackhi_epi32(a, b); }
inline Ints   low_qwords(Ints a, Ints b) { return _mm512_unpacklo_epi64(a, b); }
inline Ints   high_qwords(Ints a, Ints b) { return _mm512_unpackhi_epi64(a, b); }
inline Floats to_floats(Ints v) { return _mm512_cvtepi32_ps(v); }
inline Floats times(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats plus_product(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
inline Floats minus_product(Floats sum, Floats a, Floats b) { return _mm512_fnmadd_ps(a, b, sum); }
// The half in the low 16 bits of each lane.
inline Floats halves(Ints v) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v)); }
// The low and the high half of each lane.
inline void both_halves(Ints v, Floats & low, Floats & high) {
    alignas(64) static constexpr uint16_t kOrder[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                                        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    const Ints ordered = _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), v);
    low  = _mm512_cvtph_ps(_mm512_castsi512_si256(ordered));
    high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(ordered, 1));
}
inline Floats as_floats(Ints v) { return _mm512_castsi512_ps(v); }
#        if defined(GGML_PANELS_DOT)
// Adds the products of four unsigned and four signed bytes to each lane; the signed ones are in the lane or at p.
inline Ints dot(Ints sum, Ints weights, Ints values) { return _mm512_dpbusd_epi32(sum, weights, values); }
inline Ints dot(Ints sum, Ints weights, const int32_t * p) {
    return _mm512_dpbusd_epi32(sum, weights, _mm512_set1_epi32(*p));
}
#        else
// The products of each lane's four unsigned bytes and the four signed ones at p, added in pairs.
inline Ints pairs(Ints weights, const int32_t * p) { return _mm512_maddubs_epi16(weights, _mm512_set1_epi32(*p)); }
// The same for signed weights with the magnitudes `sizes`. (AVX-512 has no instruction that copies signs.)
inline Ints signed_pairs(Ints weights, Ints sizes, const int32_t * p) {
    const Ints values = _mm512_set1_epi32(*p);
    const Ints turned = _mm512_mask_sub_epi8(values, _mm512_movepi8_mask(weights), _mm512_setzero_si512(), values);
    return _mm512_maddubs_epi16(sizes, turned);
}
inline Ints absolute(Ints v) { return _mm512_abs_epi8(v); }
inline Ints plus_pairs(Ints a, Ints b) { return in_this_order(_mm512_add_epi16(a, b)); }
inline Ints sums_of(Ints pairs) { return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)); }
#        endif
// Bit 4 * G + i of a lane, for i < 4, becomes bit 4 of its byte i.
template <int G> inline Ints fifth_bits(Ints v) {
    const Ints table = _mm512_setr_epi32(0x00000000, 0x00000010, 0x00001000, 0x00001010, 0x00100000, 0x00100010,
                                         0x00101000, 0x00101010, 0x10000000, 0x10000010, 0x10001000, 0x10001010,
                                         0x10100000, 0x10100010, 0x10101000, 0x10101010);
    return _mm512_permutexvar_epi32(right<4 * G>(v), table);
}
// 16 bytes of each of the rows 0, 4, 8 and 12.
inline Ints every_fourth_row(const uint8_t * p, size_t stride) {
    Ints v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *) p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *) (p + 4 * stride)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *) (p + 8 * stride)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *) (p + 12 * stride)), 3);
}

#    else

constexpr int kLanes   = 8;
#        if defined(GGML_PANELS_DOT)
constexpr int kColumns = 4;
#        else
constexpr int kColumns = 8;  // sums of pairs need no other registers, and weights are read half as often
#        endif

using Ints   = __m256i;
using Floats = __m256;

inline Ints   load(const void * p) { return _mm256_loadu_si256((const __m256i *) p); }
inline Floats load_floats(const float * p) { return _mm256_loadu_ps(p); }
inline void   store(void * p, Ints v) { _mm256_storeu_si256((__m256i *) p, v); }
inline void   store(float * p, Floats v) { _mm256_storeu_ps(p, v); }
inline Ints   all(int32_t v) { return _mm256_set1_epi32(v); }
inline Floats all(float v) { return _mm256_set1_ps(v); }
inline Ints   bytes(int v) { return _mm256_set1_epi8((char) v); }
inline Ints   masked(Ints a, Ints b) { return _mm256_and_si256(a, b); }
inline Ints   joined(Ints a, Ints b) { return _mm256_or_si256(a, b); }
inline Ints   flipped(Ints a, Ints b) { return _mm256_xor_si256(a, b); }
template <int N> inline Ints right(Ints v) { return _mm256_srli_epi32(v, N); }
template <int N> inline Ints left(Ints v) { return _mm256_slli_epi32(v, N); }
template <int N> inline Ints right_signed(Ints v) { return _mm256_srai_epi32(v, N); }
inline Ints   plus(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
inline Ints   minus(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
inline Ints   look_up(__m128i table, Ints v) { return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), v); }
inline Ints   low_dwords(Ints a, Ints b) { return _mm256_unpacklo_epi32(a, b); }
inline Ints   high_dwords(Ints a, Ints b) { return _mm256_unpackhi_epi32(a, b); }
inline Ints   low_qwords(Ints a, Ints b) { return _mm256_unpacklo_epi64(a, b); }
inline Ints   high_qwords(Ints a, Ints b) { return _mm256_unpackhi_epi64(a, b); }
inline Floats to_floats(Ints v) { return _mm256_cvtepi32_ps(v); }
inline Floats times(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline Floats plus_product(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
inline Floats minus_product(Floats sum, Floats a, Floats b) { return _mm256_fnmadd_ps(a, b, sum); }
inline Floats halves(Ints v) {
    const Ints low = _mm256_and_si256(v, _mm256_set1_epi32(0xFFFF));
    const Ints packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
inline void both_halves(Ints v, Floats & low, Floats & high) {
    const Ints order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
                                        0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const Ints ordered = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, order), 0xD8);
    low  = _mm256_cvtph_ps(_mm256_castsi256_si128(ordered));
    high = _mm256_cvtph_ps(_mm256_extracti128_si256(ordered, 1));
}
inline Floats as_floats(Ints v) { return _mm256_castsi256_ps(v); }
#        if defined(GGML_PANELS_DOT)
inline Ints dot(Ints sum, Ints weights, Ints values) { return _mm256_dpbusd_avx_epi32(sum, weights, values); }
inline Ints dot(Ints sum, Ints weights, const int32_t * p) {
    return _mm256_dpbusd_avx_epi32(sum, weights, _mm256_set1_epi32(*p));
}
#        else
inline Ints pairs(Ints weights, const int32_t * p) { return _mm256_maddubs_epi16(weights, _mm256_set1_epi32(*p)); }
inline Ints signed_pairs(Ints weights, Ints sizes, const int32_t * p) {
    return _mm256_maddubs_epi16(sizes, _mm256_sign_epi8(_mm256_set1_epi32(*p), weights));
}
inline Ints absolute(Ints v) { return _mm256_abs_epi8(v); }
inline Ints plus_pairs(Ints a, Ints b) { return in_this_order(_mm256_add_epi16(a, b)); }
inline Ints sums_of(Ints pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }
#        endif
template <int G> inline Ints fifth_bits(Ints v) {
    constexpr char at   = G / 2;
    const Ints     byte = _mm256_setr_epi8(at, at, at, at, at + 4, at + 4, at + 4, at + 4, at + 8, at + 8, at + 8, at + 8,
                                           at + 12, at + 12, at + 12, at + 12, at, at, at, at, at + 4, at + 4, at + 4, at + 4,
                                           at + 8, at + 8, at + 8, at + 8, at + 12, at + 12, at + 12, at + 12);
    const Ints     bit  = _mm256_set1_epi32(G % 2 == 0 ? 0x08040201 : 0x80402010);
    const Ints     set  = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(v, byte), bit), bit);
    return _mm256_and_si256(set, _mm256_set1_epi8(0x10));
}
// Two loads and a blend: before Zen 4, an insertion takes as long as both loads.
inline Ints every_fourth_row(const uint8_t * p, size_t stride) {
    const Ints low  = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *) p));
    const Ints high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) (p + 4 * stride)));
    return _mm256_blend_epi32(low, high, 0xF0);
}

#    endif

// Lane r of out[i] holds the bytes 4 * i to 4 * i + 3 of row r at p.
inline void transpose(const uint8_t * p, size_t stride, Ints out[4]) {
    const Ints r0 = every_fourth_row(p, stride);
    const Ints r1 = every_fourth_row(p + stride, stride);
    const Ints r2 = every_fourth_row(p + 2 * stride, stride);
    const Ints r3 = every_fourth_row(p + 3 * stride, stride);
    const Ints a = low_dwords(r0, r1), b = low_dwords(r2, r3);
    const Ints c = high_dwords(r0, r1), d = high_dwords(r2, r3);
    out[0] = low_qwords(a, b);
    out[1] = high_qwords(a, b);
    out[2] = low_qwords(c, d);
    out[3] = high_qwords(c, d);
}

// The same for kLanes times four bytes. With 512 bits, one instruction reads each row: rows at a distance of a power of two
// evict each other from the first-level cache.
inline void transpose_all(const uint8_t * p, size_t stride, Ints out[kLanes]) {
#    if defined(GGML_LANES_512)
    Ints a[16], b[16];
    for (int i = 0; i < 16; i += 2) {
        const Ints r0 = load(p + i * stride), r1 = load(p + (i + 1) * stride);
        a[i]     = low_dwords(r0, r1);
        a[i + 1] = high_dwords(r0, r1);
    }
    for (int i = 0; i < 16; i += 4) {
        b[i]     = low_qwords(a[i], a[i + 2]);
        b[i + 1] = high_qwords(a[i], a[i + 2]);
        b[i + 2] = low_qwords(a[i + 1], a[i + 3]);
        b[i + 3] = high_qwords(a[i + 1], a[i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        const Ints even0 = _mm512_shuffle_i32x4(b[i], b[i + 4], 0x88);
        const Ints odd0  = _mm512_shuffle_i32x4(b[i], b[i + 4], 0xDD);
        const Ints even1 = _mm512_shuffle_i32x4(b[i + 8], b[i + 12], 0x88);
        const Ints odd1  = _mm512_shuffle_i32x4(b[i + 8], b[i + 12], 0xDD);
        out[i]      = _mm512_shuffle_i32x4(even0, even1, 0x88);
        out[i + 4]  = _mm512_shuffle_i32x4(odd0, odd1, 0x88);
        out[i + 8]  = _mm512_shuffle_i32x4(even0, even1, 0xDD);
        out[i + 12] = _mm512_shuffle_i32x4(odd0, odd1, 0xDD);
    }
#    else
    transpose(p, stride, out);
    transpose(p + 16, stride, out + 4);
#    endif
}

}  // namespace ggml::cpu::panels

#endif
