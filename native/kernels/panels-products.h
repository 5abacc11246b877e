#pragma once
// Thread: any

// Multiplies the blocks of a panel by the columns of a tile (panels.cpp), either from stored weights or while unpacking.

#include "panels-formats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

namespace ggml::cpu::panels {

// Internal linkage (this header is for panels.cpp only) lets compilers inline more.
namespace {

#if defined(__AMX_TILE__) && defined(__GNUC__)

// Reads a byte of each cache line of a range, and prefetches the line kAhead bytes later: in this range or in `then`, the next
// one. Prefetches alone do not use all of the memory bandwidth.
class Reading {
  public:
    static constexpr bool asks_for_two = true;

    Reading(const char * data, int64_t size, int64_t n_steps, const char * then)
        : at_(data), due_(data), end_(data + size), then_(then - end_), part_(size / n_steps + 1) {}

    // Keeps the compiler from removing the reads.
    ~Reading() { __asm__ volatile("" : : "r"(sum_)); }

    void step() {
        due_                = std::min(due_ + part_, end_);
        const char *  at    = at_;
        const int64_t ahead = end_ - at > kAhead ? kAhead : kAhead + then_;
        for (; at < due_; at += 64) {
            _mm_prefetch(at + ahead, _MM_HINT_T1);
            sum_ += (unsigned char) *at;
        }
        at_ = at;
    }

  private:
    static constexpr int kAhead = 8192;

    const char *at_, *due_, *end_;
    int64_t     then_, part_;
    uint32_t    sum_ = 0;
};

// Prefetches the weights of a product with N columns. CPUs with AMX are Intel's: their first-level cache has fewer outstanding
// misses than the second-level one. Products of more than four columns are limited by computation, which reads would delay.
template <int N> using Prefetch = std::conditional_t<N <= 4, Reading, Prefetching<_MM_HINT_T1>>;

#elif defined(GGML_LANES_512)
// The panel being multiplied and the next one exceed a first-level cache of 32 KiB, for example 36 KiB of Q4_K in rows of 2048.
template <int N> using Prefetch = Prefetching<_MM_HINT_T1>;
#else
// Panels of eight rows fit.
template <int N> using Prefetch = Prefetching<_MM_HINT_T0>;
#endif

// kPanels stored panels are multiplied at once by a tile of up to kStoredColumns columns. A product with up to kOnlyColumns columns
// has one tile and stores no panels. kFirstChunkIsLarge: a thread first reads most of its share at a stretch, which needs cores of
// equal speed.
#if defined(__AMX_TILE__)
constexpr int  kPanels = 2, kStoredColumns = 6, kOnlyColumns = 16;
constexpr bool kFirstChunkIsLarge = true;
#else
constexpr int  kPanels = 1, kStoredColumns = kColumns, kOnlyColumns = kColumns;
constexpr bool kFirstChunkIsLarge = false;
#endif

// Words per column of a tile's block: a scale, a sum for each sub-block, four values for each group.
template <class F> constexpr int words_of_a_block() { return 1 + F::subs + F::subs * F::groups; }

inline Floats all_float_at(const int32_t * p) {
    float value;
    memcpy(&value, p, sizeof value);
    return all(value);
}

#if defined(GGML_PANELS_DOT)

// Multiplies a sub-block by N columns. weights_of(g) returns group g of its weights.
template <class F, int N, class WeightsOf>
inline void multiply_sub_block(const WeightsOf & weights_of, const int32_t * sums, const int32_t * groups,
                               Ints * results) {
    // Few columns need several sums each: one would be a chain of dependent instructions.
    constexpr int kChains = N == 1 && F::groups > 4 ? 4 : N <= 3 ? 2 : 1;
    Ints          products[N][kChains];
    each<N>([&](auto j) {
        each<kChains>([&](auto c) { products[j][c] = F::offset && c == 0 ? all(sums[j]) : all(0); });
    });
    each<F::groups>([&](auto g) {
        const Ints weights = weights_of(g);
        each<N>([&](auto j) {
            Ints & product = products[j][g % kChains];
            product        = dot(product, weights, groups + N * g + j);
        });
    });
    each<N>([&](auto j) {
        if constexpr (kChains == 4) {
            products[j][0] = plus(products[j][0], products[j][2]);
            products[j][1] = plus(products[j][1], products[j][3]);
        }
        if constexpr (kChains > 1) products[j][0] = plus(products[j][0], products[j][1]);
        results[j] = products[j][0];
    });
}

#else

template <class F> inline Ints pairs_of(Ints weights, Ints sizes, const int32_t * group) {
    if constexpr (F::has_signs) return signed_pairs(weights, sizes, group);
    return pairs(weights, group);
}

template <class F, int N, class WeightsOf>
inline void multiply_sub_block(const WeightsOf & weights_of, const int32_t * sums, const int32_t * groups,
                               Ints * results) {
    // The number of pairs that add up without overflow in 16 bits.
    constexpr int kPairs = std::clamp(32767 / (2 * 127 * F::largest), 1, F::groups);
    each<N>([&](auto j) { results[j] = all(F::offset && !F::has_signs ? sums[j] : 0); });
    each<F::groups / kPairs>([&](auto part) {
        Ints of_columns[N];
        each<kPairs>([&](auto i) {
            constexpr std::integral_constant<int, part * kPairs + i> g;
            const Ints    weights = weights_of(g);
            const Ints    sizes   = F::has_signs ? absolute(weights) : weights;
            each<N>([&](auto j) {
                const Ints product = pairs_of<F>(weights, sizes, groups + N * g + j);
                of_columns[j]      = i == 0 ? product : plus_pairs(of_columns[j], product);
            });
        });
        each<N>([&](auto j) { results[j] = plus(results[j], sums_of(of_columns[j])); });
    });
}

#endif

// Scales the products of a sub-block with N columns and adds them up. d and m are the scales and minima of the sub-block, `sums`
// the sums of the columns' values. All kernels add products here, in the order of sub-blocks, and so round alike.
template <class F, int N>
inline void add_scaled(const Ints * products, const float * d, const float * m, const int32_t * tile,
                       const int32_t * sums, Floats * total, Floats * scaled) {
    const Floats scale = load_floats(d);
    each<N>([&](auto j) {
        const Floats product = to_floats(products[j]);
        if constexpr (F::subs > 1) {
            scaled[j] = plus_product(scaled[j], product, scale);
        } else {
            total[j] = plus_product(total[j], product, times(scale, all_float_at(tile + j)));
            if constexpr (F::mins) total[j] = plus_product(total[j], load_floats(m), all_float_at(sums + j));
        }
        if constexpr (F::mins && F::subs > 1) scaled[j] = minus_product(scaled[j], load_floats(m), all_float_at(sums + j));
    });
}

// Scales the sum of a block and adds it to the total.
template <class F, int N> inline void add_block(const int32_t * tile, const Floats * scaled, Floats * total) {
    if constexpr (F::subs > 1) {
        each<N>([&](auto j) { total[j] = plus_product(total[j], scaled[j], all_float_at(tile + j)); });
    }
}

template <class F> const float * minima_of(const typename F::Sub & sub) {
    if constexpr (F::mins) return sub.m;
    return nullptr;
}

// Stores the unpacked weights of a block of each row.
template <class F> struct Stored {
    typename F::Sub * block;

    void scale(int s, Floats d) { store(block[s].d, d); }
    void minimum(int s, Floats m) { store(block[s].m, m); }
    template <class WeightsOf> void groups(int s, const WeightsOf & weights_of) {
        each<F::groups>([&](auto g) { store(block[s].qs[g], weights_of(g)); });
    }
};

// Multiplies a panel by a tile, block by block; unpacked(l) returns block l of each row.
template <class F, int N, class Unpacked, class Next>
void multiply(int64_t n_blocks, const Unpacked & unpacked, const int32_t * tile, Next next, Floats * results) {
    Floats total[N];
    each<N>([&](auto j) { total[j] = all(0.0f); });
    for (int64_t l = 0; l < n_blocks; ++l) {
        const int32_t * const sums   = tile + N;
        const int32_t *       groups = sums + N * F::subs;
        Floats                scaled[N];
        each<N>([&](auto j) { scaled[j] = all(0.0f); });
        const typename F::Sub * const block = unpacked(l);
        for (int s = 0; s < F::subs; ++s) {
            next.step();
            const typename F::Sub & sub = block[s];
            Ints                    products[N];
            multiply_sub_block<F, N>([&](auto g) { return load(sub.qs[g]); }, sums + N * s, groups, products);
            groups += N * F::groups;
            add_scaled<F, N>(products, sub.d, minima_of<F>(sub), tile, sums + N * s, total, scaled);
        }
        add_block<F, N>(tile, scaled, total);
        tile += N * words_of_a_block<F>();
    }
    each<N>([&](auto j) { results[j] = total[j]; });
}

#if defined(__AMX_TILE__)

// The same for P consecutive stored panels at once, which share the loads of columns: one panel is limited by loads.
template <class F, int N, int P>
GGML_FLATTEN void multiply_together(int64_t n_blocks, const typename F::Sub * panels, const int32_t * tile,
                                    Prefetch<kStoredColumns> next, Floats * results) {
    Floats total[P][N];
    each<P * N>([&](auto i) { total[i / N][i % N] = all(0.0f); });
    const int64_t n_subs = n_blocks * F::subs;
    for (int64_t l = 0; l < n_blocks; ++l) {
        const int32_t * const sums   = tile + N;
        const int32_t *       groups = sums + N * F::subs;
        Floats                scaled[P][N];
        each<P * N>([&](auto i) { scaled[i / N][i % N] = all(0.0f); });
        for (int s = 0; s < F::subs; ++s, ++panels, groups += N * F::groups) {
            next.step();
            Ints products[P][N];
            each<P * N>([&](auto i) { products[i / N][i % N] = all(F::offset ? sums[N * s + i % N] : 0); });
            each<F::groups>([&](auto g) {
                Ints weights[P];
                each<P>([&](auto p) { weights[p] = load(panels[p * n_subs].qs[g]); });
                each<N>([&](auto j) {
                    const Ints values = all(groups[N * g + j]);
                    each<P>([&](auto p) { products[p][j] = dot(products[p][j], weights[p], values); });
                });
            });
            each<P>([&](auto p) {
                const typename F::Sub & sub = panels[p * n_subs];
                add_scaled<F, N>(products[p], sub.d, minima_of<F>(sub), tile, sums + N * s, total[p], scaled[p]);
            });
        }
        each<P>([&](auto p) { add_block<F, N>(tile, scaled[p], total[p]); });
        tile += N * words_of_a_block<F>();
    }
    each<P * N>([&](auto i) { results[i] = total[i / N][i % N]; });
}

#else

template <class F, int N, int P>
void multiply_together(int64_t n_blocks, const typename F::Sub * panel, const int32_t * tile,
                       Prefetch<kStoredColumns> next, Floats * results) {
    static_assert(P == 1, "a stored panel is multiplied alone");
    multiply<F, N>(n_blocks, [&](int64_t l) { return panel + l * F::subs; }, tile, next, results);
}

#endif

// Multiplies the weights of a block of each row while they are unpacked, and stores the sums.
template <class F, int N> struct Multiplied {
    const int32_t * sums;  // of the block's columns
    Prefetch<N> &   next;
    float           d[F::subs][kLanes], m[F::mins ? F::subs : 1][kLanes];
    int32_t         products[F::subs][N][kLanes];

    // Leaves the arrays uninitialised.
    Multiplied(const int32_t * sums, Prefetch<N> & next) : sums(sums), next(next) {}

    void scale(int s, Floats v) { store(d[s], v); }
    void minimum(int s, Floats v) { store(m[s], v); }
    template <class WeightsOf> void groups(int s, const WeightsOf & weights_of) {
        next.step();
        Ints results[N];
        multiply_sub_block<F, N>(weights_of, sums + N * s, sums + N * (F::subs + F::groups * s), results);
        each<N>([&](auto j) { store(products[s][j], results[j]); });
    }
};

// The same as multiply(). A common loop is a tenth slower for many columns.
template <class F, int N>
GGML_FLATTEN GGML_APART void multiply_unpacking(const uint8_t * rows, size_t stride, int64_t n_blocks, const int32_t * tile,
                                     Prefetch<N> next, Floats * results) {
    Floats total[N];
    each<N>([&](auto j) { total[j] = all(0.0f); });
    for (int64_t l = 0; l < n_blocks; ++l) {
        Multiplied<F, N> block(tile + N, next);
        F::unpack(rows + l * sizeof(typename F::Block), stride, block);
        Floats scaled[N];
        each<N>([&](auto j) { scaled[j] = all(0.0f); });
        for (int s = 0; s < F::subs; ++s) {
            Ints products[N];
            each<N>([&](auto j) { products[j] = load(block.products[s][j]); });
            const float * const minima = F::mins ? block.m[s] : nullptr;
            add_scaled<F, N>(products, block.d[s], minima, tile, tile + N * (1 + s), total, scaled);
        }
        add_block<F, N>(tile, scaled, total);
        tile += N * words_of_a_block<F>();
    }
    each<N>([&](auto j) { results[j] = total[j]; });
}

// Whether a block is multiplied while it is unpacked, without storing it. Without dot products of bytes, storing takes longer than
// multiplying by few columns; many columns need too many registers, and formats with more instructions per group reach that limit
// earlier. With dot products of bytes, and for one column of a format without sub-blocks, memory is the limit, except on CPUs
// with AMX.
template <class F, int N> constexpr bool multiplies_unpacking() {
#if defined(__AMX_TILE__)
    return true;
#elif defined(GGML_PANELS_DOT)
    return false;
#else
    return F::subs == 1 ? N > 1 : N <= (F::largest < 16 ? 6 : 3);
#endif
}

}  // namespace
}  // namespace ggml::cpu::panels

#endif
