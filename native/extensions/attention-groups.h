// Thread: any. A ubatch of streams with different numbers of tokens: attention is computed in groups of streams with
// equally many tokens, everything else once for all rows. Patch 0012 calls this.
#pragma once

#include "llama-arch.h"
#include "llama-batch.h"

#include <cstdint>
#include <vector>

namespace chasqui {

// The graph has up to 14 more nodes in each layer for each group.
inline constexpr uint32_t kMaxAttentionGroups = 8, kNodesOfAttentionGroup = 14;

// Whether split_equal() would need several ubatches, and llm_graph_context::build_attn() can compute the batch in groups.
bool computes_in_groups(llm_arch arch, const llama_batch& batch);

// Splits the ubatch. Its rows are sorted by sequence. The streams of a group are consecutive.
std::vector<llama_ubatch> attention_groups(const llama_ubatch& ubatch);

}  // namespace chasqui
