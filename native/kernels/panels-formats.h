#pragma once
// Thread: any

// Unpacks the rows of each quantisation for panels.cpp.

#include "panels-parts.h"

#include <cstring>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

namespace ggml::cpu::panels {

// Groups of four weights of each row that share a scale.
template <int Groups, bool Mins> struct SubBlock {
    uint8_t qs[Groups][kLanes][4];
    float   d[kLanes];
    float   m[kLanes];
};

template <int Groups> struct SubBlock<Groups, false> {
    uint8_t qs[Groups][kLanes][4];
    float   d[kLanes];
};

// Sums in 16 bits need signed weights: products of unsigned ones would overflow.
#if defined(GGML_PANELS_DOT)
constexpr bool kEightBitsSigned = false;
#else
constexpr bool kEightBitsSigned = true;
#endif

// The base of the quantisations. Weights are unsigned with `Bits` bits, `offset` above their value, or signed without offset.
//
// unpack() splits a block of each row. For each sub-block s, in any order, it calls out.scale(s, d), out.minimum(s, m) if there
// are minima, and out.groups(s, weights_of), where weights_of(g) returns group g. Minima of sub-blocks are subtracted, the minimum
// of a block without sub-blocks is added.
template <class B, int Subs, int Groups, bool Mins, int Bits, int Offset> struct Format {
    using Block = B;
    using Sub   = SubBlock<Groups, Mins>;
    static constexpr bool has_signs = kEightBitsSigned && Bits == 8;
    static constexpr int  subs = Subs, groups = Groups, offset = Offset;
    static constexpr bool mins = Mins;
    // The largest magnitude of a weight.
    static constexpr int  largest = has_signs ? 128 : (1 << Bits) - 1;
    // The quantisation of the activations.
    static constexpr ggml_type columns = Subs == 1 ? GGML_TYPE_Q8_0 : GGML_TYPE_Q8_K;
    static constexpr int  size = Subs * Groups * 4;
};

inline Ints low_nibbles(Ints v) { return masked(v, bytes(0x0F)); }
inline Ints high_nibbles(Ints v) { return masked(right<4>(v), bytes(0x0F)); }

// Nibble `at` of each of the 16 bytes that v has of each row; the low nibbles come first.
template <class At> inline Ints nibbles(const Ints v[4], At at) {
    return at < 4 ? low_nibbles(v[at & 3]) : high_nibbles(v[at & 3]);
}

// The scale of a block without sub-blocks: its first two bytes.
template <class Out> inline Ints unpack_scale(const uint8_t * rows, size_t stride, Ints head[4], Out & out) {
    transpose(rows, stride, head);
    out.scale(0, halves(head[0]));
    return head[0];
}

struct Q4_0 : Format<block_q4_0, 1, 8, false, 4, 8> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4], v[4];
        unpack_scale(rows, stride, head, out);
        transpose(rows + offsetof(Block, qs), stride, v);
        out.groups(0, [&](auto g) { return nibbles(v, g); });
    }
};

struct Q5_0 : Format<block_q5_0, 1, 8, false, 5, 16> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4], v[4];
        unpack_scale(rows, stride, head, out);
        const Ints qh = joined(right<16>(head[0]), left<16>(head[1]));
        transpose(rows + offsetof(Block, qs), stride, v);
        out.groups(0, [&](auto g) { return joined(nibbles(v, g), fifth_bits<g>(qh)); });
    }
};

// The scale and the minimum of a block without sub-blocks: its first four bytes.
template <class Out> inline void unpack_scale_and_minimum(Ints head, Out & out) {
    out.scale(0, halves(head));
    out.minimum(0, halves(right<16>(head)));
}

struct Q4_1 : Format<block_q4_1, 1, 8, true, 4, 0> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4], v[4];
        transpose(rows, stride, head);
        unpack_scale_and_minimum(head[0], out);
        transpose(rows + offsetof(Block, qs), stride, v);
        out.groups(0, [&](auto g) { return nibbles(v, g); });
    }
};

struct Q5_1 : Format<block_q5_1, 1, 8, true, 5, 0> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4], v[4];
        transpose(rows, stride, head);
        unpack_scale_and_minimum(head[0], out);
        const Ints qh = head[offsetof(Block, qh) / 4];
        transpose(rows + offsetof(Block, qs), stride, v);
        out.groups(0, [&](auto g) { return joined(nibbles(v, g), fifth_bits<g>(qh)); });
    }
};

struct Q8_0 : Format<block_q8_0, 1, 8, false, 8, 128> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4], v[8];
        unpack_scale(rows, stride, head, out);
        transpose(rows + offsetof(Block, qs), stride, v);
        transpose(rows + offsetof(Block, qs) + 16, stride, v + 4);
        out.groups(0, [&](auto g) { return flipped(v[g], bytes(has_signs ? 0 : 0x80)); });
    }
};

inline __m128i table_of(const int8_t * sixteen) {
    const __m128i values = _mm_loadu_si128((const __m128i *) sixteen);
    return _mm_xor_si128(values, _mm_set1_epi8((char) (kEightBitsSigned ? 0 : 0x80)));
}

struct IQ4_NL : Format<block_iq4_nl, 1, 8, false, 8, 128> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4], v[4];
        unpack_scale(rows, stride, head, out);
        transpose(rows + offsetof(Block, qs), stride, v);
        out.groups(0, [&](auto g) { return look_up(table_of(kvalues_iq4nl), nibbles(v, g)); });
    }
};

// The scale is a power of two. The table has twice the values of the weights.
struct MXFP4 : Format<block_mxfp4, 1, 8, false, 8, 128> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4], v[4];
        transpose(rows, stride, head);
        out.scale(0, times(as_floats(left<23>(masked(head[0], all(0xFF)))), all(0.5f)));
        transpose(rows + offsetof(Block, qs), stride, v);
        out.groups(0, [&](auto g) { return look_up(table_of(kvalues_mxfp4), nibbles(v, g)); });
    }
};

struct IQ4_XS : Format<block_iq4_xs, 8, 8, false, 8, 128> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints head[4];
        transpose(rows, stride, head);
        const Floats d = halves(head[0]);
        each<8>([&](auto i) {
            const Ints low  = masked(right<4 * i>(head[1]), all(0x0F));
            const Ints high = masked(right<16 + 2 * i>(head[0]), all(0x03));
            out.scale(i, times(d, to_floats(minus(joined(low, left<4>(high)), all(32)))));
            Ints v[4];
            transpose(rows + offsetof(Block, qs) + 16 * i, stride, v);
            out.groups(i, [&](auto g) { return look_up(table_of(kvalues_iq4nl), nibbles(v, g)); });
        });
    }
};

// Sets the scales and minima of four sub-blocks from bytes.
template <class Out> inline void scale_four(int first, Ints scales, Ints mins, Floats d, Floats dmin, Out & out) {
    each<4>([&](auto i) {
        out.scale(first + i, times(d, to_floats(masked(right<8 * i>(scales), all(0xFF)))));
        out.minimum(first + i, times(dmin, to_floats(masked(right<8 * i>(mins), all(0xFF)))));
    });
}

// The first 16 bytes of a block of Q4_K or Q5_K: two halves, then eight scales and eight minima of six bits.
template <class Out> inline void unpack_scales(const uint8_t * rows, size_t stride, Out & out) {
    Ints head[4];
    transpose(rows, stride, head);
    const Floats d    = halves(head[0]);
    const Floats dmin = halves(right<16>(head[0]));
    const Ints   six = all(0x3F3F3F3F), four = all(0x0F0F0F0F), two = all(0x30303030);
    const Ints   s0 = head[1], s1 = head[2], s2 = head[3];
    scale_four(0, masked(s0, six), masked(s1, six), d, dmin, out);
    scale_four(4, joined(masked(s2, four), masked(right<2>(s0), two)),
               joined(masked(right<4>(s2), four), masked(right<2>(s1), two)), d, dmin, out);
}

struct Q4_K : Format<block_q4_K, 8, 8, true, 4, 0> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        unpack_scales(rows, stride, out);
        for (int s = 0; s < 8; s += 2) {
            Ints v[8];
            transpose(rows + offsetof(Block, qs) + 16 * s, stride, v);
            transpose(rows + offsetof(Block, qs) + 16 * s + 16, stride, v + 4);
            out.groups(s, [&](auto g) { return low_nibbles(v[g]); });
            out.groups(s + 1, [&](auto g) { return high_nibbles(v[g]); });
        }
    }
};

// Bit From of each byte, as bit 4.
template <int From> inline Ints as_fifth_bits(Ints v) {
    return masked(From < 4 ? left<(4 - From) & 7>(v) : right<(From - 4) & 7>(v), bytes(0x10));
}

struct Q5_K : Format<block_q5_K, 8, 8, true, 5, 0> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        unpack_scales(rows, stride, out);
        Ints qh[8];
        transpose(rows + offsetof(Block, qh), stride, qh);
        transpose(rows + offsetof(Block, qh) + 16, stride, qh + 4);
        each<4>([&](auto i) {
            Ints v[8];
            transpose(rows + offsetof(Block, qs) + 32 * i, stride, v);
            transpose(rows + offsetof(Block, qs) + 32 * i + 16, stride, v + 4);
            out.groups(2 * i, [&](auto g) { return joined(low_nibbles(v[g]), as_fifth_bits<2 * i>(qh[g])); });
            out.groups(2 * i + 1, [&](auto g) { return joined(high_nibbles(v[g]), as_fifth_bits<2 * i + 1>(qh[g])); });
        });
    }
};

struct Q6_K : Format<block_q6_K, 16, 4, false, 6, 32> {
    template <class Out> static void unpack(const uint8_t * rows, size_t stride, Out & out) {
        Ints scales[4], tail[4];
        transpose(rows + offsetof(Block, scales), stride, scales);
        transpose(rows + offsetof(Block, d) + sizeof(ggml_half) - 16, stride, tail);
        const Floats d = halves(right<16>(tail[3]));
        each<16>([&](auto s) {
            out.scale(s, times(d, to_floats(right_signed<24>(left<24 - 8 * (s & 3)>(scales[s / 4])))));
        });
        const Ints two = bytes(0x30);
        // Each half of a block has 128 weights; the loop unpacks 16 of each of its quarters.
        for (int i = 0; i < 4; ++i) {
            const int half = i / 2, at = i & 1, s = 8 * half + at;
            Ints low[4], high[4], qh[4];
            transpose(rows + offsetof(Block, ql) + 64 * half + 16 * at, stride, low);
            transpose(rows + offsetof(Block, ql) + 64 * half + 16 * at + 32, stride, high);
            transpose(rows + offsetof(Block, qh) + 32 * half + 16 * at, stride, qh);
            out.groups(s, [&](auto g) { return joined(low_nibbles(low[g]), masked(left<4>(qh[g]), two)); });
            out.groups(s + 2, [&](auto g) { return joined(low_nibbles(high[g]), masked(left<2>(qh[g]), two)); });
            out.groups(s + 4, [&](auto g) { return joined(high_nibbles(low[g]), masked(qh[g], two)); });
            out.groups(s + 6, [&](auto g) { return joined(high_nibbles(high[g]), masked(right<2>(qh[g]), two)); });
        }
    }
};

}  // namespace ggml::cpu::panels

#endif
