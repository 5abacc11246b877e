// Products of quantised weights and the activations of one token or several.
//
// A panel is 16 rows of weights (8 with vectors of 256 bits), unpacked once for all tokens into groups of four bytes of a row, so
// that each 32-bit lane of a sum is a row. A tile is some columns of activations, in groups of four in the order of the kernel.
//
//   rows of weights -- unpack --> panel --+
//                                         +-- multiply --> kLanes rows, a tile's columns of the result
//   activations -- lay_out -----> tile ---+
//
// Weights are read from memory once and prefetched a panel ahead. If one tile holds all columns, a panel is a single block of its
// rows, multiplied before the next one is unpacked or during it.
#define GGML_COMMON_IMPL_CPP
#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"

#include "panels.h"

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "panels-experts.h"
#include "panels-products.h"
#include "panels-shares.h"
#include "panels-tiles.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

using namespace ggml::cpu::panels;

namespace {

// The panels of a product. The last one may overlap the one before.
struct Panels {
    const ggml_tensor * dst;
    int64_t             n_rows = dst->src[0]->ne[1];
    size_t              stride = dst->src[0]->nb[1];

    int64_t         row_of(int64_t panel) const { return std::min(panel * kLanes, n_rows - kLanes); }
    const uint8_t * weights_of(int64_t panel) const {
        return (const uint8_t *) dst->src[0]->data + row_of(panel) * stride;
    }
    Results results_of(int64_t panel) const {
        return {(float *) dst->data + row_of(panel), n_rows, (int) (panel * kLanes - row_of(panel))};
    }
};

// Products with N columns in one tile.
template <class F, int N>
void multiply_only_tile(const ggml_compute_params * params, const ggml_products & products, const int32_t * tile) {
    const int64_t n_blocks = products.dst[0]->src[0]->ne[0] / F::size;
    for_parts<Prefetch<N>>(params, products, [&](const Part & part, const Piece & next, const Piece & then) {
        const Panels      panels{products.dst[part.product]};
        const Prefetch<N> ahead(next.data, next.size, n_blocks * F::subs, then.data);
        multiply_rows<F, N>(panels.weights_of(part.panel), panels.stride, n_blocks, tile, ahead,
                            panels.results_of(part.panel));
    });
}

// Products with several tiles: stores panels and multiplies them by each tile.
template <class F>
void multiply_stored(const ggml_compute_params * params, const ggml_products & products, const int32_t * tiles,
                     typename F::Sub * stored) {
    using Ahead = Prefetch<kStoredColumns>;
    const int64_t n_blocks = products.dst[0]->src[0]->ne[0] / F::size, n = ggml_nrows(products.dst[0]);
    for_parts<Ahead>(params, products, [&](const Part & part, const Piece & next, const Piece &) {
        const Panels  panels{products.dst[part.product]};
        const int64_t half = next.size / 2;
        Results       results[kPanels];
        Ahead         ahead(next.data, half, part.n * n_blocks);
        for (int64_t i = 0; i < part.n; ++i) {
            unpack<F>(panels.weights_of(part.panel + i), panels.stride, n_blocks, ahead,
                      stored + i * n_blocks * F::subs);
            results[i] = panels.results_of(part.panel + i);
        }
        ahead = Ahead(next.data + half, next.size - half, n_blocks * F::subs);
        each<kPanels>([&](auto i) {
            if (part.n == i + 1) multiply_tiles<F, i + 1>(n_blocks, n, stored, tiles, ahead, results);
        });
    });
}

// Calls body with the format of these weights. Returns false if there is none.
template <class Body> bool with_format(const ggml_tensor * weights, const Body & body) {
    switch (weights->type) {
        case GGML_TYPE_Q4_0: return body(Q4_0()), true;
        case GGML_TYPE_Q4_1: return body(Q4_1()), true;
        case GGML_TYPE_Q5_0: return body(Q5_0()), true;
        case GGML_TYPE_Q5_1: return body(Q5_1()), true;
        case GGML_TYPE_Q8_0: return body(Q8_0()), true;
        case GGML_TYPE_Q4_K: return body(Q4_K()), true;
        case GGML_TYPE_Q5_K: return body(Q5_K()), true;
        case GGML_TYPE_Q6_K: return body(Q6_K()), true;
        case GGML_TYPE_IQ4_NL: return body(IQ4_NL()), true;
        case GGML_TYPE_IQ4_XS: return body(IQ4_XS()), true;
        case GGML_TYPE_MXFP4: return body(MXFP4()), true;
        default: return false;
    }
}

// The work buffer: the quantised columns, their tiles, panels of each thread.
struct Layout {
    size_t tiles, panels, of_panels;

    template <class F> static Layout of(const ggml_tensor * dst, F) {
        const int64_t k       = dst->src[0]->ne[0];
        const auto    blocks  = (size_t) (k / F::size);
        const size_t  columns = (size_t) ggml_nrows(dst);
        const size_t  row     = ggml_row_size(F::columns, k);
        Layout        layout;
        layout.tiles    = GGML_PAD(row * ggml_nrows(dst->src[1]), 64);
        layout.panels   = layout.tiles + GGML_PAD(columns * blocks * words_of_a_block<F>() * sizeof(int32_t), 64);
        layout.of_panels = GGML_PAD(kPanels * blocks * F::subs * sizeof(typename F::Sub), 64);
        return layout;
    }
};

bool fits_panels(const ggml_tensor * weights) {
    bool fits = false;
    with_format(weights, [&](auto format) { fits = weights->ne[0] % format.size == 0; });
    return fits && weights->ne[1] >= kLanes && ggml_is_contiguous(weights);
}

}  // namespace

bool ggml_cpu_panels_take(const struct ggml_tensor * weights) { return fits_panels(weights) && ggml_n_dims(weights) <= 2; }

bool ggml_cpu_panels_supports_mul_mat(const struct ggml_tensor * dst) {
    const ggml_tensor * columns = dst->src[1];
    return ggml_cpu_panels_take(dst->src[0]) && columns->type == GGML_TYPE_F32 && columns->nb[0] == sizeof(float) &&
           dst->type == GGML_TYPE_F32 && ggml_is_contiguous(dst);
}

bool ggml_cpu_panels_go_together(const struct ggml_tensor * dst, const struct ggml_tensor * other) {
    return dst->src[1] == other->src[1] && dst->src[0]->type == other->src[0]->type &&
           ggml_cpu_panels_supports_mul_mat(dst) && ggml_cpu_panels_supports_mul_mat(other);
}

void ggml_cpu_panels_first_share(const struct ggml_products * products, int ith, int nth, const char ** begin,
                                 const char ** end) {
    *begin = *end = nullptr;
    if (!ggml_cpu_panels_supports_mul_mat(products->dst[0])) return;
    const Chunks  chunks(*products, nth);
    const int64_t first = chunks.first_of(ith);
    Part          part  = chunks.part(first);
    part.n              = (chunks.first_of(ith + 1) - first) * chunks.at_once;
    const Piece piece   = weights_of(*products, part);
    *begin = piece.data;
    *end   = piece.data + piece.size;
}

const char * ggml_cpu_panels_ask_for(const char * weights) {
    _mm_prefetch(weights, _MM_HINT_T1);
    return weights + 64;
}

size_t ggml_cpu_panels_work_size(const struct ggml_tensor * dst, int n_threads) {
    size_t size = 0;
    with_format(dst->src[0], [&](auto format) {
        const Layout layout = Layout::of(dst, format);
        size                = layout.panels + layout.of_panels * n_threads;
    });
    return size;
}

void ggml_cpu_panels_mul_mat(const struct ggml_compute_params * params, const struct ggml_products * products) {
    const ggml_tensor * dst = products->dst[0];
    with_format(dst->src[0], [&](auto format) {
        using F             = decltype(format);
        const Layout layout = Layout::of(dst, format);
        char * const work   = (char *) params->wdata;
        auto * const tiles  = (int32_t *) (work + layout.tiles);
        auto * const panels = (typename F::Sub *) (work + layout.panels + layout.of_panels * params->ith);
        GGML_ASSERT(params->wsize >= layout.panels + layout.of_panels * params->nth);
        const int64_t n = ggml_nrows(dst);
        quantize<F>(params, dst->src[1], work, [&](int64_t j, int64_t first, int64_t last, const char * row) {
            lay_out<F>(tiles, dst->src[0]->ne[0] / F::size, n, j, first, last, row);
        });
        if (params->ith == 0) ggml_threadpool_chunk_set(params->threadpool, params->nth);
        ggml_barrier(params->threadpool);

        if (n > kOnlyColumns) return multiply_stored<F>(params, *products, tiles, panels);
        each<kOnlyColumns>([&](auto i) {
            if (n == i + 1) multiply_only_tile<F, i + 1>(params, *products, tiles);
        });
    });
}

bool ggml_cpu_panels_supports_mul_mat_id(const struct ggml_tensor * dst) {
    const ggml_tensor *weights = dst->src[0], *columns = dst->src[1], *ids = dst->src[2];
    return fits_panels(weights) && weights->ne[3] == 1 && columns->type == GGML_TYPE_F32 &&
           columns->nb[0] == sizeof(float) && columns->ne[3] == 1 && dst->type == GGML_TYPE_F32 && ggml_is_contiguous(dst) &&
           ids->type == GGML_TYPE_I32 && ids->nb[0] == sizeof(int32_t);
}

size_t ggml_cpu_panels_experts_work_size(const struct ggml_tensor * dst, int n_threads) {
    return ggml_cpu_panels_work_size(dst, n_threads) + Groups::size(dst) * n_threads;
}

void ggml_cpu_panels_mul_mat_id(const struct ggml_compute_params * params, struct ggml_tensor * dst) {
    with_format(dst->src[0], [&](auto format) {
        using F             = decltype(format);
        const Layout layout = Layout::of(dst, format);
        const size_t own    = layout.of_panels + Groups::size(dst);
        char * const work   = (char *) params->wdata;
        char * const panels = work + layout.panels + own * params->ith;
        GGML_ASSERT(params->wsize >= layout.panels + own * params->nth);
        multiply_experts<F>(params, dst, {work, (int32_t *) (work + layout.tiles), (typename F::Sub *) panels,
                                          panels + layout.of_panels});
    });
}

#else

bool ggml_cpu_panels_supports_mul_mat_id(const struct ggml_tensor *) { return false; }
size_t ggml_cpu_panels_experts_work_size(const struct ggml_tensor *, int) { return 0; }
void ggml_cpu_panels_mul_mat_id(const struct ggml_compute_params *, struct ggml_tensor *) {}
bool ggml_cpu_panels_take(const struct ggml_tensor *) { return false; }
bool ggml_cpu_panels_supports_mul_mat(const struct ggml_tensor *) { return false; }
bool ggml_cpu_panels_go_together(const struct ggml_tensor *, const struct ggml_tensor *) { return false; }
void ggml_cpu_panels_first_share(const struct ggml_products *, int, int, const char ** begin, const char ** end) {
    *begin = *end = nullptr;
}
const char * ggml_cpu_panels_ask_for(const char * weights) { return weights; }
size_t ggml_cpu_panels_work_size(const struct ggml_tensor *, int) { return 0; }
void ggml_cpu_panels_mul_mat(const struct ggml_compute_params *, const struct ggml_products *) {}

#endif
