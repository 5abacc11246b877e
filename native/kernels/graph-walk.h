#pragma once
// Thread: every thread of ggml's pool; state is thread-local

#include "panels.h"

namespace ggml::cpu::kernels {

// The product of the node that this thread computes, and up to three later ones with the same activations. Marks the later
// ones as computed.
ggml_products products_with(ggml_tensor * node);

}  // namespace ggml::cpu::kernels
