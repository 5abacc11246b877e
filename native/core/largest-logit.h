// Thread: any.
#pragma once

#include <cstdint>

namespace chasqui {

// The largest of `n` logits, ignoring NaN; minus infinity if there are none.
float largest_logit(const float* logits, int32_t n);

// Whether none of `n` logits is NaN or plus infinity.
bool are_valid(const float* logits, int32_t n);

}  // namespace chasqui
