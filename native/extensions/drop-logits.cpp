// Graphs of contexts for embeddings: patch 0010 calls this. Part of the library llama.
#include "llama-graph.h"

#include <set>
#include <unordered_map>
#include <vector>

namespace {

std::set<const ggml_tensor*> used_for_logits_only(const llm_graph_result&          result,
                                                  const std::vector<ggml_tensor*>& nodes) {
    std::unordered_map<const ggml_tensor*, int> n_users;
    for (const ggml_tensor* node : nodes) {
        for (const ggml_tensor* source : node->src) ++n_users[source];
    }
    for (const ggml_tensor* output : {result.t_embd, result.t_embd_pooled, result.t_h_nextn}) ++n_users[output];
    for (const ggml_tensor* input : result.t_layer_inp) ++n_users[input];

    std::set<const ggml_tensor*>    found;
    std::vector<const ggml_tensor*> unused = {result.t_logits};
    while (!unused.empty()) {
        const ggml_tensor* tensor = unused.back();
        unused.pop_back();
        if (tensor == nullptr || n_users[tensor] > 0 || !found.insert(tensor).second) continue;
        for (const ggml_tensor* source : tensor->src) {
            --n_users[source];
            unused.push_back(source);
        }
    }
    return found;
}

}  // namespace

void chasqui_drop_logits(llm_graph_result& result);

// Removes the nodes that only the logits need: the product with the output matrix, for each token.
void chasqui_drop_logits(llm_graph_result& result) {
    const ggml_tensor* logits = result.t_logits;
    if (logits == nullptr || logits == result.t_embd || logits == result.t_embd_pooled) return;
    ggml_cgraph*              graph = result.get_gf();
    std::vector<ggml_tensor*> nodes;
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) nodes.push_back(ggml_graph_node(graph, i));
    const std::set<const ggml_tensor*> dropped = used_for_logits_only(result, nodes);

    ggml_graph_clear(graph);
    for (ggml_tensor* node : nodes) {
        if (dropped.count(node) > 0) continue;
        // A graph for images contains the nodes of token embeddings, but does not compute them.
        if ((node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0) ggml_build_forward_expand(graph, node);
        else ggml_build_forward_order(graph, node);
    }
    result.t_logits = nullptr;
}
