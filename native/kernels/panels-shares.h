#pragma once
// Thread: any

// Divides the panels of one or several products (panels.cpp) among threads.

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "panels-products.h"
#include "panels.h"

#include <algorithm>
#include <cstdint>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

namespace ggml::cpu::panels {

// Internal linkage as in panels-products.h.
namespace {

// Panels of a product that are multiplied at once; n is 0 after the last one.
struct Part {
    int     product;
    int64_t panel, n;
};

// Divides the panels of all products into parts, and these into chunks. The first chunk of each thread is fixed; threads take the
// others from a counter.
struct Chunks {
    const ggml_products & products;
    int64_t               at_once, n_parts;
    int64_t               n, n_first, parts_in_first;

    Chunks(const ggml_products & products, int n_threads)
        : products(products),
          at_once(ggml_nrows(products.dst[0]) <= kOnlyColumns ? 1 : kPanels),
          n_parts(parts_of_all()),
          n(std::min<int64_t>(n_parts, n_threads * chunks_of_a_thread())),
          n_first(std::min<int64_t>(n, n_threads)),
          parts_in_first(n_parts * n_first / n) {
        // Memory is read fastest in order: a thread's first chunk is most of its share. Small chunks at the end balance the
        // threads.
        if (kFirstChunkIsLarge && is_read() && n > n_first && n_parts >= 8) {
            n              = n_first + std::min(n - n_first, n_parts / 8);
            parts_in_first = n_parts - n_parts / 8;
        }
    }

    // The first part of a chunk; the number of parts after the last chunk.
    int64_t first_of(int64_t chunk) const {
        const int64_t behind = chunk - n_first;
        if (behind <= 0) return parts_in_first * chunk / n_first;
        return chunk < n ? parts_in_first + (n_parts - parts_in_first) * behind / (n - n_first) : n_parts;
    }

    Part part(int64_t at) const {
        for (int i = 0; i < products.n; ++i) {
            const int64_t panel = at * at_once;
            if (panel < panels_of(i)) return {i, panel, std::min(at_once, panels_of(i) - panel)};
            at -= parts_of(i);
        }
        return {products.n - 1, panels_of(products.n - 1), 0};
    }

  private:
    int64_t panels_of(int i) const { return (products.dst[i]->src[0]->ne[1] + kLanes - 1) / kLanes; }
    int64_t parts_of(int i) const { return (panels_of(i) + at_once - 1) / at_once; }
    int64_t parts_of_all() const {
        int64_t sum = 0;
        for (int i = 0; i < products.n; ++i) sum += parts_of(i);
        return sum;
    }

    // Whether memory is the limit: all columns are in one tile.
    bool is_read() const { return at_once == 1; }

    // Products limited by computation have smaller chunks, which balance the threads.
    int chunks_of_a_thread() const { return ggml_is_numa() ? 1 : is_read() ? 4 : 32; }
};

// The parts of this thread, chunk by chunk.
class Parts {
  public:
    Parts(const ggml_compute_params * params, const ggml_products & products)
        : threadpool_(params->threadpool), chunks_(products, params->nth) {
        begin(params->ith);
    }

    Part take() {
        while (at_ == end_ && chunk_ < chunks_.n) begin(ggml_threadpool_chunk_add(threadpool_, 1));
        return chunks_.part(at_ < end_ ? at_++ : chunks_.n_parts);
    }

  private:
    void begin(int64_t chunk) {
        chunk_ = chunk;
        at_    = chunks_.first_of(chunk);
        end_   = chunks_.first_of(chunk + 1);
    }

    ggml_threadpool * threadpool_;
    Chunks            chunks_;
    int64_t           chunk_, at_, end_;
};

// A range of weights in memory.
struct Piece {
    const char * data;
    int64_t      size;
};

Piece weights_of(const ggml_products & products, const Part & part) {
    const ggml_tensor * weights = products.dst[part.product]->src[0];
    const int64_t       first = std::min(part.panel * kLanes, weights->ne[1]);
    const int64_t       last  = std::min((part.panel + part.n) * kLanes, weights->ne[1]);
    return {(const char *) weights->data + first * weights->nb[1], (int64_t) ((last - first) * weights->nb[1])};
}

// Calls body(part, next, then) for each part of this thread. `next` and `then` are the weights of the following two parts, to be
// prefetched by Ahead. Taking parts early leaves fewer to balance the threads with, so `then` is empty if Ahead does not use it.
template <class Ahead, class Body>
void for_parts(const ggml_compute_params * params, const ggml_products & products, const Body & body) {
    Parts parts(params, products);
    Part  part = parts.take(), next = parts.take();
    while (part.n > 0) {
        const Part then = Ahead::asks_for_two ? parts.take() : Part{next.product, next.panel, 0};
        body(part, weights_of(products, next), weights_of(products, then));
        part = next;
        next = Ahead::asks_for_two ? then : parts.take();
    }
}

}  // namespace
}  // namespace ggml::cpu::panels

#endif
