// Products of short rows of weights of 16 or 32 bits and the activations of one token or several.
//
// A panel is 16 rows of weights (8 with vectors of 256 bits), transposed so that each lane of a vector is a row. This avoids
// sums across a vector, which are most of the work for short rows. Each element of the result is one sum in the order of
// the row. Its bits do not depend on the other rows and columns or on the threads. Activations keep their precision.
#include "float-panels.h"

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "panels-parts.h"

#include <algorithm>
#include <cstdint>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

using namespace ggml::cpu::panels;

namespace {

using Prefetch = Prefetching<_MM_HINT_T0>;

constexpr int64_t kMaxLength = 256;  // float-rows.cpp is faster for longer rows
constexpr int64_t kStep    = 8;    // weights of each row between prefetches

// The types of weights. turn() reads `step` weights of each row (a cache line with vectors of 512 bits), transposes them and
// calls out(i, v) with a vector for each.
struct F32 {
    static constexpr int64_t bytes = 4, step = kLanes;
    template <class Out> static void turn(const uint8_t * rows, size_t stride, const Out & out) {
        Ints v[kLanes];
        transpose_all(rows, stride, v);
        each<kLanes>([&](auto i) { out(i, as_floats(v[i])); });
    }
};

struct F16 {
    static constexpr int64_t bytes = 2, step = 2 * kLanes;
    template <class Out> static void turn(const uint8_t * rows, size_t stride, const Out & out) {
        Ints v[kLanes];
        transpose_all(rows, stride, v);
        each<kLanes>([&](auto i) {
            Floats low, high;
            both_halves(v[i], low, high);
            out(2 * i, low);
            out(2 * i + 1, high);
        });
    }
};

struct BF16 {
    static constexpr int64_t bytes = 2, step = 2 * kLanes;
    template <class Out> static void turn(const uint8_t * rows, size_t stride, const Out & out) {
        Ints v[kLanes];
        transpose_all(rows, stride, v);
        each<kLanes>([&](auto i) {
            out(2 * i, as_floats(left<16>(v[i])));
            out(2 * i + 1, as_floats(masked(v[i], all((int32_t) 0xFFFF0000))));
        });
    }
};

// One product. The columns of all planes are numbered consecutively.
struct Product {
    const uint8_t *     rows;
    size_t              stride;
    int64_t             m, n, k;
    const ggml_tensor * columns;
    float *             results;

    const float * column(int64_t j) const {
        const int64_t plane = j / columns->ne[1];
        return (const float *) ((const char *) columns->data + j % columns->ne[1] * columns->nb[1] +
                                plane % columns->ne[2] * columns->nb[2] + plane / columns->ne[2] * columns->nb[3]);
    }
};

template <int R, int N> using Sums = Floats[R][N];  // R panels, N columns

template <int N> struct Columns {
    const float * values[N];

    Columns(const Product & p, int64_t first) {
        each<N>([&](auto j) { values[j] = p.column(first + j); });
    }
};

template <int R, int N>
inline void add(Sums<R, N> & sums, const Floats (&weights)[R], const Columns<N> & columns, int64_t at) {
    each<N>([&](auto j) {
        const Floats value = all(columns.values[j][at]);
        each<R>([&](auto r) { sums[r][j] = plus_product(sums[r][j], weights[r], value); });
    });
}

// R panels. The last group of a matrix may overlap the one before by `skip` rows.
struct Group {
    int64_t first;
    int     skip;
    int64_t rest;  // bytes of the next group, or 0

    template <int R> static Group at(const Product & p, int64_t index, bool is_last) {
        constexpr int64_t rows  = R * kLanes;
        const int64_t     first = std::min(index * rows, p.m - rows);
        const int64_t     after = is_last ? 0 : std::min(rows, p.m - (index + 1) * rows);
        return {first, (int) (index * rows - first), after * (int64_t) p.stride};
    }
};

// Stores the sums of a group, except those of the overlap.
template <int R, int N>
inline void store_sums(const Sums<R, N> & sums, const Product & p, const Group & group, int64_t column) {
    float * const to = p.results + column * p.m + group.first;
    each<R>([&](auto r) {
        const int skipped = std::clamp(group.skip - r * kLanes, 0, kLanes);
        each<N>([&](auto j) { store_behind(skipped, to + j * p.m + r * kLanes, sums[r][j]); });
    });
}

// `turned` holds R vectors for each weight of a row.
template <int R, int N>
void multiply(const Product & p, const Group & group, int64_t column, const float * turned, Prefetch & next) {
    const Columns<N> columns(p, column);
    const int64_t    k = p.k;
    Prefetch         ahead = next;
    Sums<R, N>       sums;
    each<R>([&](auto r) { each<N>([&](auto j) { sums[r][j] = all(0.0f); }); });
    for (int64_t l = 0; l < k; l += kStep) {
        ahead.step();
        for (int64_t i = l; i < l + kStep; ++i, turned += R * kLanes) {
            Floats weights[R];
            each<R>([&](auto r) { weights[r] = load_floats(turned + r * kLanes); });
            add<R, N>(sums, weights, columns, i);
        }
    }
    store_sums<R, N>(sums, p, group, column);
    next = ahead;
}

// Multiplies a single column without storing the transposed weights.
template <class F, int R> GGML_FLATTEN void multiply_one(const Product & p, const Group & group, int64_t column) {
    const uint8_t * const rows   = p.rows + group.first * p.stride;
    const float * const   values = p.column(column);
    Prefetch              next((const char *) rows + R * kLanes * p.stride, group.rest, p.k / F::step * R);
    Sums<R, 1>            sums;
    each<R>([&](auto r) { sums[r][0] = all(0.0f); });
    for (int64_t l = 0; l < p.k; l += F::step) {
        each<R>([&](auto r) {
            next.step();
            F::turn(rows + r * kLanes * p.stride + l * F::bytes, p.stride,
                    [&](auto i, Floats v) { sums[r][0] = plus_product(sums[r][0], v, all(values[l + i])); });
        });
    }
    store_sums<R, 1>(sums, p, group, column);
}

// Multiplies the columns [first, last) in tiles of equal width.
template <class F, int R> void multiply_group(const Product & p, const Group & group, int64_t first, int64_t last) {
    alignas(64) float     turned[kMaxLength * R * kLanes];
    const uint8_t * const rows = p.rows + group.first * p.stride;
    const int64_t         n = last - first, n_tiles = (n + kColumns - 1) / kColumns;
    Prefetch next((const char *) rows + R * kLanes * p.stride, group.rest, p.k / F::step * R + p.k / kStep * n_tiles);
    for (int64_t l = 0; l < p.k; l += F::step) {
        for (int r = 0; r < R; ++r) {
            next.step();
            float * const out = turned + (l * R + r) * kLanes;
            F::turn(rows + r * kLanes * p.stride + l * F::bytes, p.stride,
                    [&](auto i, Floats v) { store(out + i * R * kLanes, v); });
        }
    }
    for (int64_t t = 0; t < n_tiles; ++t) {
        const int64_t column = first + n * t / n_tiles, width = first + n * (t + 1) / n_tiles - column;
        each<kColumns>([&](auto i) {
            if (width == i + 1) multiply<R, i + 1>(p, group, column, turned, next);
        });
    }
}

// The work is divided into groups of panels and, if these are few, into parts of the columns.
template <class F, int R> struct Work {
    const Product & p;
    int64_t         n_groups, n_parts;

    Work(const Product & p, int n_threads) : p(p), n_groups((p.m + R * kLanes - 1) / (R * kLanes)) {
        n_parts = std::max<int64_t>(1, std::min(4 * n_threads / n_groups, p.n / (8 * kColumns)));
    }

    int64_t size() const { return n_groups * n_parts; }

    // Computes consecutive groups, so that the next one can be prefetched.
    void compute(int64_t begin, int64_t end) const {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t part = at / n_groups, index = at % n_groups;
            const Group   group = Group::at<R>(p, index, at + 1 == end || index + 1 == n_groups);
            if (p.n == 1) multiply_one<F, R>(p, group, 0);
            else multiply_group<F, R>(p, group, p.n * part / n_parts, p.n * (part + 1) / n_parts);
        }
    }
};

// Below this, a shared counter costs more than waiting for the slowest thread.
constexpr int64_t kLittle = 1 << 21;

template <class F, int R> void compute(const ggml_compute_params * params, const Product & p) {
    const Work<F, R> work(p, params->nth);
    if (p.m * p.k * (p.n + kColumns) < kLittle) {
        work.compute(work.size() * params->ith / params->nth, work.size() * (params->ith + 1) / params->nth);
        return;
    }
    if (params->ith == 0) ggml_threadpool_chunk_set(params->threadpool, params->nth);
    ggml_barrier(params->threadpool);
    const int64_t n_chunks = std::min<int64_t>(work.size(), params->nth * (ggml_is_numa() ? 1 : 4));
    for (int64_t chunk = params->ith; chunk < n_chunks; chunk = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        work.compute(work.size() * chunk / n_chunks, work.size() * (chunk + 1) / n_chunks);
    }
}

template <class F> bool fits(const ggml_tensor * dst) {
    const ggml_tensor *weights = dst->src[0], *columns = dst->src[1];
    return ggml_n_dims(weights) <= 2 && ggml_is_contiguous(weights) && weights->ne[1] >= kLanes &&
           weights->ne[0] <= kMaxLength && weights->ne[0] % F::step == 0 && columns->type == GGML_TYPE_F32 &&
           columns->nb[0] == sizeof(float) && dst->type == GGML_TYPE_F32 && ggml_is_contiguous(dst);
}

template <class F> bool compute(const ggml_compute_params * params, const ggml_tensor * dst) {
    if (!fits<F>(dst)) return false;
    const ggml_tensor * weights = dst->src[0];
    const Product       p{(const uint8_t *) weights->data, weights->nb[1], weights->ne[1], ggml_nrows(dst), weights->ne[0],
                    dst->src[1], (float *) dst->data};
    // Two panels at a time share loads of activations and form independent chains of sums.
    if (p.m >= 2 * kLanes) compute<F, 2>(params, p);
    else compute<F, 1>(params, p);
    return true;
}

}  // namespace

bool ggml_cpu_float_panels_mul_mat(const struct ggml_compute_params * params, struct ggml_tensor * dst) {
    switch (dst->src[0]->type) {
        case GGML_TYPE_F32: return compute<F32>(params, dst);
        case GGML_TYPE_F16: return compute<F16>(params, dst);
        case GGML_TYPE_BF16: return compute<BF16>(params, dst);
        default: return false;
    }
}

#else

bool ggml_cpu_float_panels_mul_mat(const struct ggml_compute_params *, struct ggml_tensor *) { return false; }

#endif
