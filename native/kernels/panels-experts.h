#pragma once
// Thread: any

// Products of a mixture of experts (GGML_OP_MUL_MAT_ID): each expert multiplies the columns of the tokens that chose it.
//
// Activations are quantised once for all experts, then laid out in the tiles of each expert. Threads share runs of panels of all
// experts. A column has the same bits whatever other columns its expert multiplies.

#include "panels-tiles.h"

#include <algorithm>
#include <cstdint>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

namespace ggml::cpu::panels {

// Internal linkage as in panels-products.h.
namespace {

// The columns of the result, grouped by expert. Each thread has its own copy, which saves a barrier.
class Groups {
  public:
    static size_t size(const ggml_tensor * dst) {
        return GGML_PAD((2 * dst->src[0]->ne[2] + 1 + ggml_nrows(dst)) * sizeof(int32_t), 64);
    }

    Groups(const ggml_tensor * dst, void * memory)
        : first_((int32_t *) memory), active_(first_ + dst->src[0]->ne[2] + 1), columns_(active_ + dst->src[0]->ne[2]) {
        const int64_t n_experts = dst->src[0]->ne[2], n = ggml_nrows(dst), n_used = dst->ne[1];
        std::fill(first_, first_ + n_experts + 1, 0);
        for (int64_t j = 0; j < n; ++j) ++first_[expert_of(dst, j, n_used)];
        int32_t before = 0;
        for (int64_t e = 0; e <= n_experts; ++e) {
            if (first_[e] > 0) active_[n_active_++] = (int32_t) e;
            before += first_[e];
            first_[e] = before;
        }
        // From the last column to the first: afterwards first_[e] is the first column of expert e.
        for (int64_t j = n - 1; j >= 0; --j) columns_[--first_[expert_of(dst, j, n_used)]] = (int32_t) j;
    }

    // The experts that a token chose.
    int64_t n_active() const { return n_active_; }
    int64_t expert(int64_t i) const { return active_[i]; }
    // The position of the expert's columns among those of all experts, and their number.
    int64_t         first(int64_t i) const { return first_[active_[i]]; }
    int64_t         n(int64_t i) const { return first_[active_[i] + 1] - first(i); }
    const int32_t * columns(int64_t i) const { return columns_ + first(i); }

  private:
    static int32_t expert_of(const ggml_tensor * dst, int64_t j, int64_t n_used) {
        const ggml_tensor * ids = dst->src[2];
        return *(const int32_t *) ((const char *) ids->data + j / n_used * ids->nb[1] + j % n_used * ids->nb[0]);
    }

    int32_t *first_, *active_, *columns_;
    int64_t n_active_ = 0;
};

// Panels of an active expert that are multiplied at once; n is 0 after the last one.
struct ExpertPart {
    int64_t active, panel, n;
};

// The parts of this thread, in runs of panels that threads take from a counter.
class ExpertParts {
  public:
    ExpertParts(const ggml_compute_params * params, const Groups & groups, int64_t n_panels)
        : threadpool_(params->threadpool), groups_(groups), n_panels_(n_panels) {
        begin(params->ith);
    }

    ExpertPart take() {
        if (part_.panel == end_) begin(ggml_threadpool_chunk_add(threadpool_, 1));
        if (part_.active == groups_.n_active()) return {0, 0, 0};
        const int64_t at_once = groups_.n(part_.active) <= kOnlyColumns ? 1 : kPanels;
        ExpertPart    part{part_.active, part_.panel, std::min(at_once, end_ - part_.panel)};
        part_.panel += part.n;
        return part;
    }

  private:
    static constexpr int64_t kRun = 4;

    void begin(int64_t run) {
        const int64_t n_runs = (n_panels_ + kRun - 1) / kRun;
        part_.active = std::min(run / n_runs, groups_.n_active());
        part_.panel  = run % n_runs * kRun;
        end_         = std::min(part_.panel + kRun, n_panels_);
    }

    ggml_threadpool * threadpool_;
    const Groups &    groups_;
    int64_t           n_panels_, end_ = 0;
    ExpertPart        part_{};
};

// One expert's weights and its share of the result.
struct Expert {
    const ggml_tensor * dst;
    const Groups &      groups;
    int64_t             active;

    int64_t n_rows() const { return dst->src[0]->ne[1]; }
    size_t  stride() const { return dst->src[0]->nb[1]; }
    int64_t row_of(int64_t panel) const { return std::min(panel * kLanes, n_rows() - kLanes); }

    const uint8_t * weights_of(int64_t panel) const {
        return (const uint8_t *) dst->src[0]->data + groups.expert(active) * dst->src[0]->nb[2] + row_of(panel) * stride();
    }
    Results results_of(int64_t panel) const {
        return {(float *) dst->data + row_of(panel), n_rows(), (int) (panel * kLanes - row_of(panel)), groups.columns(active)};
    }
};

template <class F>
void multiply_expert(const Expert & expert, const ExpertPart & part, const int32_t * tiles, typename F::Sub * stored,
                     const char * next, int64_t next_size) {
    const int64_t n_blocks = expert.dst->src[0]->ne[0] / F::size, n = expert.groups.n(part.active);
    if (n <= kOnlyColumns) {
        each<kOnlyColumns>([&](auto i) {
            constexpr int N = i + 1;
            if (n != N) return;
            const Prefetch<N> ahead(next, next_size, n_blocks * F::subs, next);
            multiply_rows<F, N>(expert.weights_of(part.panel), expert.stride(), n_blocks, tiles, ahead,
                                expert.results_of(part.panel));
        });
        return;
    }
    using Ahead = Prefetch<kStoredColumns>;
    const int64_t half = next_size / 2;
    Results       results[kPanels];
    Ahead         ahead(next, half, part.n * n_blocks);
    for (int64_t i = 0; i < part.n; ++i) {
        unpack<F>(expert.weights_of(part.panel + i), expert.stride(), n_blocks, ahead, stored + i * n_blocks * F::subs);
        results[i] = expert.results_of(part.panel + i);
    }
    ahead = Ahead(next + half, next_size - half, n_blocks * F::subs);
    each<kPanels>([&](auto i) {
        if (part.n == i + 1) multiply_tiles<F, i + 1>(n_blocks, n, stored, tiles, ahead, results);
    });
}

template <class F> struct ExpertMemory {
    char *            quantized;
    int32_t *         tiles;
    typename F::Sub * stored;  // of this thread
    void *            groups;  // of this thread
};

template <class F>
void multiply_experts(const ggml_compute_params * params, ggml_tensor * dst, const ExpertMemory<F> & memory) {
    const ggml_tensor * columns  = dst->src[1];
    const int64_t       n_blocks = columns->ne[0] / F::size, n_used = dst->ne[1];
    const size_t        row_size = ggml_row_size(F::columns, columns->ne[0]);
    const Groups        groups(dst, memory.groups);
    const auto tiles_of = [&](int64_t i) { return memory.tiles + groups.first(i) * n_blocks * words_of_a_block<F>(); };

    quantize<F>(params, columns, memory.quantized, [](int64_t, int64_t, int64_t, const char *) {});
    const int64_t first = n_blocks * params->ith / params->nth, last = n_blocks * (params->ith + 1) / params->nth;
    for (int64_t i = 0; i < groups.n_active(); ++i) {
        for (int64_t j = 0; j < groups.n(i); ++j) {
            const int64_t column = groups.columns(i)[j];
            const int64_t row    = column / n_used * columns->ne[1] + column % n_used % columns->ne[1];
            lay_out<F>(tiles_of(i), n_blocks, groups.n(i), j, first, last, memory.quantized + row * row_size);
        }
    }
    if (params->ith == 0) ggml_threadpool_chunk_set(params->threadpool, params->nth);
    ggml_barrier(params->threadpool);

    ExpertParts parts(params, groups, (dst->src[0]->ne[1] + kLanes - 1) / kLanes);
    ExpertPart  part = parts.take(), next = part.n > 0 ? parts.take() : part;
    while (part.n > 0) {
        const Expert expert{dst, groups, part.active}, following{dst, groups, next.active};
        const auto * ahead = (const char *) following.weights_of(next.panel);
        const int64_t rows = std::min(next.n * kLanes, following.n_rows());
        multiply_expert<F>(expert, part, tiles_of(part.active), memory.stored, ahead, rows * expert.stride());
        part = next;
        if (part.n > 0) next = parts.take();
    }
}

}  // namespace
}  // namespace ggml::cpu::panels

#endif
