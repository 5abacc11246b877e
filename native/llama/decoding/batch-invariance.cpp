#include "batch-invariance.h"

#include "../model/model.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>

#include <../src/llama-ext.h>

#include <algorithm>

namespace chasqui {

namespace {

using RoundsAlike = bool(const ggml_tensor* node);

bool has_accelerators() {
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        if (ggml_backend_dev_type(ggml_backend_dev_get(i)) == GGML_BACKEND_DEVICE_TYPE_ACCEL) return true;
    }
    return false;
}

// Defined in native/kernels/rounding.cpp.
RoundsAlike* cpu_batch_invariance() {
    const ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return reinterpret_cast<RoundsAlike*>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_cpu_rounds_alike"));
}

// With as many tokens as llama.cpp itself reserves last, so it need not allocate the graph again.
ggml_cgraph* largest_graph(llama_context* context, uint32_t n_outputs) {
    const uint32_t n_tokens = std::min(llama_n_ctx(context), llama_n_ubatch(context));
    return llama_graph_reserve(context, n_tokens, llama_n_seq_max(context), std::min(n_tokens, n_outputs));
}

}  // namespace

bool batch_invariant(const Model& model, llama_context* context, uint32_t n_outputs) {
    RoundsAlike* const of_node = cpu_batch_invariance();
    if (of_node == nullptr || !model.offload().devices().empty() || has_accelerators()) return false;
    ggml_cgraph* const graph = largest_graph(context, n_outputs);
    if (graph == nullptr) return false;
    ggml_tensor** const nodes = ggml_graph_nodes(graph);
    return std::all_of(nodes, nodes + ggml_graph_n_nodes(graph), of_node);
}

}  // namespace chasqui
