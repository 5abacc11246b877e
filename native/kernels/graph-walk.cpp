// Looks ahead in the graph: computes products of the same activations together, and prefetches weights at barriers.
//
// Query, key and value share their activations, and so do gate and up. Computed together, their activations are quantised
// once and the threads wait once.
#include "graph-walk.h"

#include "ggml-backend.h"
#include "ggml-cpu-impl.h"
#include "ggml-cpu-kernels.h"
#include "ggml-impl.h"

#include <algorithm>
#include <thread>

namespace ggml::cpu::kernels {

namespace {

constexpr int kLookahead = 12;  // nodes that are searched for products with the same activations

// A fraction of a core's second-level cache. 128 KiB to 1 MiB made no measurable difference.
constexpr ptrdiff_t kPrefetchBytes = 256 * 1024;

// A few microseconds, more than threads with a core each ever wait for each other.
constexpr int kSpinsBeforeYield = 512;

using ComputedNodes = uint64_t;  // bit i: the node i after the current one is already computed

struct Walk {
    const ggml_cgraph * graph;
    int                 node;
    ComputedNodes       computed;
    // The weights to prefetch while this thread waits at the barrier.
    bool         at_barrier;
    int          next_product;  // node
    const char * prefetch;
    const char * prefetch_end;
};

thread_local Walk walk;

bool is_disjoint(const ggml_tensor * a, const ggml_tensor * b) {
    const auto *first = (const char *) a->data, *other = (const char *) b->data;
    return first == nullptr || other == nullptr || first + ggml_nbytes(a) <= other || other + ggml_nbytes(b) <= first;
}

// Whether node `later` can be computed at node `now`: no node in between reads or writes its memory, which is reused.
bool can_move(const ggml_cgraph * graph, int now, int later) {
    const ggml_tensor * product = graph->nodes[later];
    return std::all_of(graph->nodes + now, graph->nodes + later, [&](const ggml_tensor * node) {
        return is_disjoint(product, node) && std::all_of(node->src, node->src + GGML_MAX_SRC, [&](const ggml_tensor * source) {
            return source == nullptr || is_disjoint(product, source);
        });
    });
}

// False for weights in the layout of other kernels.
bool is_plain(const ggml_tensor * weights) {
    return weights->op == GGML_OP_NONE && (weights->buffer == nullptr || ggml_backend_buffer_is_host(weights->buffer));
}

bool is_product(const ggml_tensor * node) {
    return node->op == GGML_OP_MUL_MAT && (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0;
}

// Returns the product of node `first` and later ones with the same activations, and adds these to `computed`, which counts
// from `first`.
ggml_products find_products(const ggml_cgraph * graph, int first, ComputedNodes & computed) {
    ggml_products products = {{graph->nodes[first]}, 1};
    if (!is_plain(products.dst[0]->src[0])) return products;
    const int n = std::min(graph->n_nodes - first, kLookahead);
    for (int i = 1; i < n && products.n < GGML_MAX_PRODUCTS; ++i) {
        ggml_tensor * other = graph->nodes[first + i];
        if (is_product(other) && (computed >> i & 1) == 0 && ggml_cpu_panels_go_together(products.dst[0], other) &&
            is_plain(other->src[0]) && can_move(graph, first, first + i)) {
            computed |= ComputedNodes(1) << i;
            products.dst[products.n++] = other;
        }
    }
    return products;
}

// Finds the weights that thread `ith` multiplies first in the next product.
void find_next_weights(const ggml_compute_params * params) {
    ComputedNodes computed = walk.computed;
    walk.prefetch = walk.prefetch_end = nullptr;
    for (int i = walk.node + 1; i < walk.graph->n_nodes; ++i) {
        walk.next_product = i;
        computed >>= 1;
        if (!is_product(walk.graph->nodes[i]) || (computed & 1) != 0) continue;
        const ggml_products products = find_products(walk.graph, i, computed);
        ggml_cpu_panels_first_share(&products, params->ith, params->nth, &walk.prefetch, &walk.prefetch_end);
        if (walk.prefetch_end - walk.prefetch > kPrefetchBytes) walk.prefetch_end = walk.prefetch + kPrefetchBytes;
        return;
    }
    walk.next_product = walk.graph->n_nodes;
}

}  // namespace

ggml_products products_with(ggml_tensor * node) {
    if (walk.graph == nullptr || walk.graph->nodes[walk.node] != node) return {{node}, 1};
    return find_products(walk.graph, walk.node, walk.computed);
}

}  // namespace ggml::cpu::kernels

using namespace ggml::cpu::kernels;

bool ggml_cpu_kernels_is_computed(const struct ggml_cgraph * graph, int node) {
    if (node == 0) walk = Walk();
    walk.graph = graph;
    walk.computed >>= node - walk.node;
    walk.node       = node;
    walk.at_barrier = false;
    return (walk.computed & 1) != 0;
}

void ggml_cpu_kernels_prefetch_at_barrier(const struct ggml_compute_params * params) {
    walk.at_barrier = true;
    if (walk.node >= walk.next_product) find_next_weights(params);
}

bool ggml_cpu_kernels_wait(int * n_spins) {
    if (walk.at_barrier && walk.prefetch < walk.prefetch_end) {
        walk.prefetch = ggml_cpu_panels_ask_for(walk.prefetch);
        return true;
    }
    if (*n_spins < kSpinsBeforeYield) {
        ++*n_spins;
        return false;
    }
    // The thread that this one waits for may need the core.
    std::this_thread::yield();
    return true;
}
