// Thread: engine, or the constructor of the context's owner.
#pragma once

#include <cstdint>

struct llama_context;

namespace chasqui {

class Model;

// Whether the logits of a token are known to be bitwise independent of the rest of the batch: other tokens of its
// sequence, drafts, or other sequences. The CPU module answers this for each node of the context's graph; for GPUs and
// other accelerators it is unknown. Adapters add nodes that are not checked. `n_outputs`: maximum rows of logits per
// batch. Requires a computed step.
bool batch_invariant(const Model& model, llama_context* context, uint32_t n_outputs);

}  // namespace chasqui
