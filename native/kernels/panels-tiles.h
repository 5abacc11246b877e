#pragma once
// Thread: any

// Lays activations out in tiles and multiplies panels by them (panels.cpp).

#include "panels-products.h"

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

namespace ggml::cpu::panels {

// Internal linkage as in panels-products.h.
namespace {

// The columns of a tile; the last one may have fewer.
int64_t width_of_tiles(int64_t n) {
    if (n <= kOnlyColumns) return n;
    const int64_t n_tiles = (n + kStoredColumns - 1) / kStoredColumns;
    return (n + n_tiles - 1) / n_tiles;
}

// Writes the blocks [first, last) of column j of n to its tile; `quantized` is the column in the format of vec_dot.
template <class F>
void lay_out(int32_t * tiles, int64_t n_blocks, int64_t n, int64_t j, int64_t first, int64_t last,
             const void * quantized) {
    const int64_t before = j / width_of_tiles(n) * width_of_tiles(n);
    const int64_t width  = std::min(width_of_tiles(n), n - before);
    int32_t *     out    = tiles + (before * n_blocks + first * width) * words_of_a_block<F>() + (j - before);
    for (int64_t l = first; l < last; ++l) {
        float          d;
        const int8_t * qs;
        int32_t        sums[F::subs];
        if constexpr (F::subs == 1) {
            const block_q8_0 & block = ((const block_q8_0 *) quantized)[l];
            d  = GGML_CPU_FP16_TO_FP32(block.d);
            qs = block.qs;
            sums[0] = 0;
            for (int i = 0; i < F::size; ++i) sums[0] += qs[i];
        } else {
            const block_q8_K & block = ((const block_q8_K *) quantized)[l];
            d  = block.d;
            qs = block.qs;
            for (int s = 0; s < F::subs; ++s) {
                sums[s] = F::subs == 16 ? block.bsums[s] : block.bsums[2 * s % 16] + block.bsums[(2 * s + 1) % 16];
            }
        }
        memcpy(out, &d, sizeof d);
        for (int s = 0; s < F::subs; ++s) {
            if (F::mins) {
                const float sum = F::subs == 1 ? d * (float) sums[s] : (float) sums[s];
                memcpy(out + width * (1 + s), &sum, sizeof sum);
            } else {
                out[width * (1 + s)] = -F::offset * sums[s];
            }
        }
        int32_t * const groups = out + width * (1 + F::subs);
        for (int g = 0; g < F::size / 4; ++g) memcpy(groups + width * g, qs + 4 * g, 4);
        out += width * words_of_a_block<F>();
    }
}

template <class F>
void unpack(const uint8_t * rows, size_t stride, int64_t n_blocks, Prefetch<kStoredColumns> & next,
            typename F::Sub * panel) {
    for (int64_t l = 0; l < n_blocks; ++l) {
        next.step();
        Stored<F> block{panel + l * F::subs};
        F::unpack(rows + l * sizeof(typename F::Block), stride, block);
    }
}

// The destination of a panel. Column j of the tiles is column `columns[j]` of the result, or column j if `columns` is null;
// columns are `stride` floats apart. The first `skip` lanes belong to the previous panel.
struct Results {
    float *         data;
    int64_t         stride;
    int             skip;
    const int32_t * columns = nullptr;

    void put(int64_t j, Floats values) const {
        store_behind(skip, data + (columns == nullptr ? j : columns[j]) * stride, values);
    }
};

// Multiplies P panels by a tile that begins at column j.
template <class F, int N, int P>
void multiply_tile(int64_t n_blocks, const typename F::Sub * panels, const int32_t * tile, Prefetch<kStoredColumns> next,
                   const Results * results, int64_t j) {
    Floats values[P * N];
    multiply_together<F, N, P>(n_blocks, panels, tile, next, values);
    each<P * N>([&](auto i) { results[i / N].put(j + i % N, values[i]); });
}

template <class F, int P>
void multiply_tiles(int64_t n_blocks, int64_t n, const typename F::Sub * panels, const int32_t * tiles,
                    Prefetch<kStoredColumns> next, const Results * results) {
    const Prefetch<kStoredColumns> none(nullptr, 0, 1);
    const int64_t                  of_tile = width_of_tiles(n);
    for (int64_t j = 0; j < n; j += of_tile) {
        const int64_t   width = std::min(of_tile, n - j);
        const int32_t * tile  = tiles + j * n_blocks * words_of_a_block<F>();
        each<kStoredColumns>([&](auto i) {
            if (width == i + 1) multiply_tile<F, i + 1, P>(n_blocks, panels, tile, j == 0 ? next : none, results, j);
        });
    }
}

// Multiplies by the only tile, one block of each row at a time.
template <class F, int N>
void multiply_rows(const uint8_t * rows, size_t stride, int64_t n_blocks, const int32_t * tile, Prefetch<N> next,
                   const Results & results) {
    Floats values[N];
    if constexpr (multiplies_unpacking<F, N>()) {
        multiply_unpacking<F, N>(rows, stride, n_blocks, tile, next, values);
    } else {
        typename F::Sub block[F::subs];
        const auto      unpacked = [&](int64_t l) {
            Stored<F> stored{block};
            F::unpack(rows + l * sizeof(typename F::Block), stride, stored);
            return block;
        };
        multiply<F, N>(n_blocks, unpacked, tile, next, values);
    }
    each<N>([&](auto j) { results.put(j, values[j]); });
}

// Quantises this thread's share of the blocks of each column, and calls body(j, first, last, row) for column j.
template <class F, class Body>
void quantize(const ggml_compute_params * params, const ggml_tensor * columns, char * quantized, const Body & body) {
    const auto    from_float = ggml_get_type_traits_cpu(F::columns)->from_float;
    const int64_t n = ggml_nrows(columns), n_blocks = columns->ne[0] / F::size;
    const int64_t first = n_blocks * params->ith / params->nth, last = n_blocks * (params->ith + 1) / params->nth;
    if (first == last) return;
    const size_t skipped = first * ggml_type_size(F::columns);
    for (int64_t j = 0; j < n; ++j) {
        const int64_t plane  = j / columns->ne[1];
        const char *  values = (const char *) columns->data + j % columns->ne[1] * columns->nb[1] +
                              plane % columns->ne[2] * columns->nb[2] + plane / columns->ne[2] * columns->nb[3];
        char * const  row    = quantized + j * ggml_row_size(F::columns, columns->ne[0]);
        from_float((const float *) values + first * F::size, row + skipped, (last - first) * F::size);
        body(j, first, last, row);
    }
}

}  // namespace
}  // namespace ggml::cpu::panels

#endif
