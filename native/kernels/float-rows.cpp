// Products of long rows of weights of 16 or 32 bits and the activations of one token or several.
//
// Each element of the result is a dot product: kLanes sums along the row, added up at the end. Its bits depend on nothing
// else, so one token has the same bits alone and beside others. Activations are rounded to the type of the weights.
//
// Few activations are limited by memory: each thread then reads a long run of rows and prefetches the next four.
#include "float-rows.h"

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "panels-parts.h"

#include <algorithm>
#include <cstdint>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

using namespace ggml::cpu::panels;

namespace {

constexpr int     kRows         = 4;     // a group, multiplied together; their sums are added up across vectors in one go
constexpr int64_t kGroupsOfRun  = 16;    // for which a tile's columns stay in the first-level cache
constexpr int64_t kBytesOfChunk = 3072;  // of each row and column of a tile: both fit into 32 KiB
constexpr int64_t kManyTiles    = 12;    // from here on, memory does not limit

#    if defined(GGML_LANES_512)

constexpr int kColumnsOfTile = 6, kTilesOfBlock = 24;

// The sum of each vector's lanes.
inline __m128 sums_of(Floats a, Floats b, Floats c, Floats d) {
    const Floats ab   = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const Floats cd   = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const Floats x    = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE));
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
    const __m256 y    = _mm256_add_ps(_mm512_castps512_ps256(x), high);
    return _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
}

inline Floats load_halves(const void * p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p)); }
inline Floats load_brain_floats(const void * p) {
    return as_floats(left<16>(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *) p))));
}

#    else

constexpr int kColumnsOfTile = 3, kTilesOfBlock = 48;

inline __m128 sums_of(Floats a, Floats b, Floats c, Floats d) {
    const Floats ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    const Floats cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    const Floats x  = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));
    return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
}

inline Floats load_halves(const void * p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p)); }
inline Floats load_brain_floats(const void * p) {
    return as_floats(left<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *) p))));
}

#    endif

// The types of weights: how `step` values are loaded and multiplied.
struct F32 {
    using Value  = float;
    using Vector = Floats;
    static constexpr ggml_type type = GGML_TYPE_F32;
    static constexpr int64_t   step = kLanes;
    static Vector load(const Value * p) { return load_floats(p); }
    static Floats add(Floats sum, Vector a, Vector b) { return plus_product(sum, a, b); }
};

struct F16 {
    using Value  = ggml_fp16_t;
    using Vector = Floats;
    static constexpr ggml_type type = GGML_TYPE_F16;
    static constexpr int64_t   step = kLanes;
    static Vector load(const Value * p) { return load_halves(p); }
    static Floats add(Floats sum, Vector a, Vector b) { return plus_product(sum, a, b); }
};

struct BF16 {
    using Value = ggml_bf16_t;
    static constexpr ggml_type type = GGML_TYPE_BF16;
#    if defined(__AVX512BF16__)
    using Vector = __m512bh;
    static constexpr int64_t step = 32;
    static Vector load(const Value * p) { return (__m512bh) _mm512_loadu_ps((const float *) p); }
    static Floats add(Floats sum, Vector a, Vector b) { return _mm512_dpbf16_ps(sum, a, b); }
#    else
    using Vector = Floats;
    static constexpr int64_t step = kLanes;
    static Vector load(const Value * p) { return load_brain_floats(p); }
    static Floats add(Floats sum, Vector a, Vector b) { return plus_product(sum, a, b); }
#    endif
};

// One plane of the product. Strides are in elements.
template <class F> struct Product {
    const typename F::Value * weights;
    int64_t                   weights_stride;
    const typename F::Value * columns;
    int64_t                   columns_stride;
    float *                   results;
    int64_t                   results_stride;
    int64_t                   n_rows, n_columns, length;
};

// Sums of a tile, between two chunks of its rows.
struct Tile {
    Floats sums[kColumnsOfTile][kRows];
};

// The part [from, to) of each row.
struct Chunk {
    int64_t from, to;
};

// Multiplies a chunk of kRows rows by N columns. CPUs do not predict rows that are read side by side, so the first tile prefetches
// the rows after them.
template <class F, int N, bool Prefetches>
GGML_FLATTEN inline void multiply_tile(const Product<F> & p, int64_t row, int64_t column, Chunk chunk, Tile & tile) {
    const auto * const weights = p.weights + row * p.weights_stride;
    const auto * const columns = p.columns + column * p.columns_stride;
    const char *       next    = (const char *) (weights + kRows * p.weights_stride + kRows * chunk.from);
    Floats             sums[N][kRows];
    if (chunk.from == 0) each<N * kRows>([&](auto i) { sums[i / kRows][i % kRows] = all(0.0f); });
    else each<N * kRows>([&](auto i) { sums[i / kRows][i % kRows] = tile.sums[i / kRows][i % kRows]; });
    for (int64_t l = chunk.from; l < chunk.to; l += F::step) {
        if constexpr (Prefetches) {
            constexpr size_t size = kRows * F::step * sizeof(typename F::Value);
            for (size_t at = 0; at < size; at += 64) _mm_prefetch(next + at, _MM_HINT_T0);
            next += size;
        }
        // The smaller operand stays in registers.
        if constexpr (kRows <= N) {
            typename F::Vector of_rows[kRows];
            each<kRows>([&](auto i) { of_rows[i] = F::load(weights + i * p.weights_stride + l); });
            each<N>([&](auto j) {
                const auto of_column = F::load(columns + j * p.columns_stride + l);
                each<kRows>([&](auto i) { sums[j][i] = F::add(sums[j][i], of_rows[i], of_column); });
            });
        } else {
            typename F::Vector of_columns[N];
            each<N>([&](auto j) { of_columns[j] = F::load(columns + j * p.columns_stride + l); });
            each<kRows>([&](auto i) {
                const auto of_row = F::load(weights + i * p.weights_stride + l);
                each<N>([&](auto j) { sums[j][i] = F::add(sums[j][i], of_row, of_columns[j]); });
            });
        }
    }
    if (chunk.to < p.length) {
        each<N * kRows>([&](auto i) { tile.sums[i / kRows][i % kRows] = sums[i / kRows][i % kRows]; });
        return;
    }
    each<N>([&](auto j) {
        _mm_storeu_ps(p.results + (column + j) * p.results_stride + row, sums_of(sums[j][0], sums[j][1], sums[j][2], sums[j][3]));
    });
}

// Groups of rows and columns: [first, last).
struct Range {
    int64_t first, last;

    int64_t size() const { return last - first; }
    Range   part(int64_t i, int64_t n) const { return {first + size() * i / n, first + size() * (i + 1) / n}; }
};

template <class F> void multiply_any_tile(const Product<F> & p, int64_t row, Range columns, Chunk chunk, Tile & tile) {
    each<kColumnsOfTile>([&](auto i) {
        if (columns.size() != i + 1) return;
        if (columns.first == 0) multiply_tile<F, i + 1, true>(p, row, columns.first, chunk, tile);
        else multiply_tile<F, i + 1, false>(p, row, columns.first, chunk, tile);
    });
}

// Few columns are limited by memory: rows are read one after the other, and stay in the first-level cache for all columns.
template <class F> void multiply_row_by_row(const Product<F> & p, Range groups, Range columns) {
    const int64_t n_tiles = (columns.size() + kColumnsOfTile - 1) / kColumnsOfTile;
    Tile          none;
    for (int64_t i = groups.first; i < groups.last; ++i) {
        for (int64_t t = 0; t < n_tiles; ++t) {
            multiply_any_tile(p, i * kRows, columns.part(t, n_tiles), {0, p.length}, none);
        }
    }
}

// Many columns are limited by the second-level cache: a tile's columns stay in the first-level one for all rows, as many values of
// each as fit.
template <class F> void multiply_tile_by_tile(const Product<F> & p, Range groups, Range columns) {
    constexpr int64_t steps   = kBytesOfChunk / (int64_t) (F::step * sizeof(typename F::Value));
    const int64_t     n_tiles = (columns.size() + kColumnsOfTile - 1) / kColumnsOfTile;
    const int64_t     n_steps = p.length / F::step, n_chunks = (n_steps + steps - 1) / steps;
    Tile              tiles[kGroupsOfRun];
    for (int64_t t = 0; t < n_tiles; ++t) {
        for (int64_t c = 0; c < n_chunks; ++c) {
            const Chunk chunk = {n_steps * c / n_chunks * F::step, n_steps * (c + 1) / n_chunks * F::step};
            for (int64_t i = groups.first; i < groups.last; ++i) {
                multiply_any_tile(p, i * kRows, columns.part(t, n_tiles), chunk, tiles[i - groups.first]);
            }
        }
    }
}

// Threads take jobs: a run of rows and a block of columns.
template <class F> void multiply_plane(const ggml_compute_params * params, const Product<F> & p) {
    const int64_t n_tiles  = (p.n_columns + kColumnsOfTile - 1) / kColumnsOfTile;
    const int64_t n_blocks = n_tiles < kTilesOfBlock ? 1 : (n_tiles + kTilesOfBlock / 2) / kTilesOfBlock;
    const int64_t n_groups = p.n_rows / kRows;
    const bool    is_few   = n_tiles < kManyTiles;
    // Four jobs a thread, if there are enough rows.
    const int64_t shortest = n_groups >= 4 * params->nth ? 4 : 1;
    const int64_t fair     = std::max(shortest, n_groups * n_blocks / (4 * params->nth));
    const int64_t run      = is_few ? fair : std::min(fair, kGroupsOfRun);
    const int64_t n_runs   = (n_groups + run - 1) / run;
    for (int64_t job = params->ith; job < n_runs * n_blocks; job = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        const int64_t group   = job % n_runs * run;
        const Range   groups  = {group, std::min(n_groups, group + run)};
        const Range   columns = Range{0, p.n_columns}.part(job / n_runs, n_blocks);
        if (is_few) multiply_row_by_row(p, groups, columns);
        else multiply_tile_by_tile(p, groups, columns);
    }
}

constexpr size_t kLine = 64;

// Lines are aligned. One more keeps columns of 4 KiB from sharing the same few sets of the first-level cache.
size_t bytes_of_column(int64_t length, ggml_type type) { return GGML_PAD(length * ggml_type_size(type), kLine) + kLine; }

char * converted_columns(const ggml_compute_params * params) {
    return (char *) GGML_PAD((uintptr_t) params->wdata, kLine);
}

void convert(const float * from, char * to, int64_t n, ggml_type type) {
    int64_t i = 0;
#    if defined(__AVX512BF16__)
    // It turns subnormal numbers into 0, as which vdpbf16ps takes them.
    for (; type == GGML_TYPE_BF16 && i + 32 <= n; i += 32) {
        const __m512bh both = _mm512_cvtne2ps_pbh(load_floats(from + i + 16), load_floats(from + i));
        _mm512_storeu_si512(to + i * sizeof(ggml_bf16_t), (__m512i) both);
    }
#    endif
    ggml_get_type_traits_cpu(type)->from_float(from + i, to + i * ggml_type_size(type), n - i);
}

// Writes this thread's share of each column, converted to the type of the weights, to the work buffer.
void convert_columns(const ggml_compute_params * params, const ggml_tensor * columns, ggml_type type) {
    const int64_t n = columns->ne[0], first = params->ith * n / params->nth, last = (params->ith + 1) * n / params->nth;
    for (int64_t j = 0; j < ggml_nrows(columns); ++j) {
        const int64_t plane = j / columns->ne[1];
        const char *  from  = (const char *) columns->data + first * columns->nb[0] + j % columns->ne[1] * columns->nb[1] +
                              plane % columns->ne[2] * columns->nb[2] + plane / columns->ne[2] * columns->nb[3];
        char * const  to    = converted_columns(params) + j * bytes_of_column(n, type) + first * ggml_type_size(type);
        if (columns->type == GGML_TYPE_F32) {
            convert((const float *) from, to, last - first, type);
        } else {
            ggml_cpu_fp16_to_fp32((const ggml_fp16_t *) from, (float *) to, last - first);
        }
    }
}

template <class F> bool compute(const ggml_compute_params * params, const ggml_tensor * dst) {
    const ggml_tensor *weights = dst->src[0], *columns = dst->src[1];
    const int64_t      n_planes    = columns->ne[2] * columns->ne[3];
    const bool         is_same_type = columns->type == F::type;
    const bool         is_convertible =
        columns->type == GGML_TYPE_F32 || (columns->type == GGML_TYPE_F16 && F::type == GGML_TYPE_F32);
    if (is_same_type ? !ggml_is_contiguous(columns) : !is_convertible) return false;
    if (weights->ne[0] % F::step != 0 || weights->ne[1] % kRows != 0) return false;
    // Many planes of one column each, as attention without flash attention has: ggml divides these better.
    if (columns->ne[1] == 1 && n_planes > 1) return false;

    using Value = typename F::Value;
    if (!is_same_type) convert_columns(params, columns, F::type);
    const auto * const data   = is_same_type ? (const char *) columns->data : converted_columns(params);
    const size_t       nb1    = is_same_type ? columns->nb[1] : bytes_of_column(columns->ne[0], F::type);
    const int64_t      share2 = columns->ne[2] / weights->ne[2], share3 = columns->ne[3] / weights->ne[3];
    for (int64_t plane = 0; plane < n_planes; ++plane) {
        if (plane > 0) ggml_barrier(params->threadpool);
        if (params->ith == 0) ggml_threadpool_chunk_set(params->threadpool, params->nth);
        ggml_barrier(params->threadpool);
        const int64_t i2 = plane % columns->ne[2], i3 = plane / columns->ne[2];
        const char *  of_plane = (const char *) weights->data + i2 / share2 * weights->nb[2] + i3 / share3 * weights->nb[3];
        multiply_plane<F>(params, {(const Value *) of_plane, (int64_t) (weights->nb[1] / sizeof(Value)),
                                   (const Value *) (data + plane * columns->ne[1] * nb1), (int64_t) (nb1 / sizeof(Value)),
                                   (float *) ((char *) dst->data + i2 * dst->nb[2] + i3 * dst->nb[3]),
                                   (int64_t) (dst->nb[1] / sizeof(float)), weights->ne[1], columns->ne[1], weights->ne[0]});
    }
    return true;
}

}  // namespace

bool ggml_cpu_float_rows_mul_mat(const struct ggml_compute_params * params, struct ggml_tensor * dst) {
    if (dst->type != GGML_TYPE_F32) return false;
    switch (dst->src[0]->type) {
        case GGML_TYPE_F32: return compute<F32>(params, dst);
        case GGML_TYPE_F16: return compute<F16>(params, dst);
        case GGML_TYPE_BF16: return compute<BF16>(params, dst);
        default: return false;
    }
}

size_t ggml_cpu_float_rows_work_size(const struct ggml_tensor * dst) {
    const ggml_tensor * columns = dst->src[1];
    const ggml_type     type    = dst->src[0]->type;
    if (type != GGML_TYPE_F32 && type != GGML_TYPE_F16 && type != GGML_TYPE_BF16) return 0;
    return ggml_nrows(columns) * bytes_of_column(columns->ne[0], type) + kLine;
}

#else

size_t ggml_cpu_float_rows_work_size(const struct ggml_tensor *) { return 0; }

bool ggml_cpu_float_rows_mul_mat(const struct ggml_compute_params *, struct ggml_tensor *) { return false; }

#endif
