// Thread: any.
#pragma once

#include <cstdint>

namespace chasqui {

// The largest of `n` logits; NaN is passed over. Minus infinity if there is no other.
float largest_logit(const float* logits, int32_t n);

}  // namespace chasqui
