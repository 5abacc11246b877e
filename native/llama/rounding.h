// Thread: engine, or the constructor of what owns the context.
#pragma once

#include <cstdint>

struct llama_context;

namespace chasqui {

class Model;

// Whether the logits of a token are known to have the same bits whatever is computed beside it: other tokens of its
// sequence, drafted ones, or those of other sequences. So says the CPU module of each node of the context's graph; of
// GPUs and other accelerators nothing is known. With adapters there are other nodes, which are not asked about.
// `n_outputs`: rows of logits that the context can yield at a time. A step must have been computed before.
bool rounds_alike(const Model& model, llama_context* context, uint32_t n_outputs);

}  // namespace chasqui
