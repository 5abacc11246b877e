#include "largest-logit.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace chasqui {

namespace {

// Number of maxima that are computed in parallel. With one, each comparison would depend on the previous one.
constexpr int32_t kLanes = 16;

// Raises each lane to the largest of its logits. `n` is a multiple of kLanes.
#if defined(__GNUC__) || defined(__clang__)

// Explicit vectors, because GCC does not vectorise a loop over sixteen floats (three times as slow).
using FourFloats __attribute__((vector_size(16))) = float;

void raise_lanes(float (&lanes)[kLanes], const float* logits, int32_t n) {
    FourFloats largest[kLanes / 4];
    std::memcpy(largest, lanes, sizeof(largest));
    for (int32_t i = 0; i < n; i += kLanes) {
        FourFloats next[kLanes / 4];
        std::memcpy(next, logits + i, sizeof(next));
        for (int32_t j = 0; j < kLanes / 4; ++j) largest[j] = next[j] > largest[j] ? next[j] : largest[j];
    }
    std::memcpy(lanes, largest, sizeof(largest));
}

#else

void raise_lanes(float (&lanes)[kLanes], const float* logits, int32_t n) {
    for (int32_t i = 0; i < n; i += kLanes) {
        for (int32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = std::max(lanes[lane], logits[i + lane]);
    }
}

#endif

}  // namespace

// Without a branch, so the compiler vectorises it.
bool are_valid(const float* logits, int32_t n) {
    uint32_t n_invalid = 0;
    for (int32_t i = 0; i < n; ++i) n_invalid += logits[i] <= std::numeric_limits<float>::max() ? 0 : 1;
    return n_invalid == 0;
}

float largest_logit(const float* logits, int32_t n) {
    float lanes[kLanes];
    std::fill(lanes, lanes + kLanes, -std::numeric_limits<float>::infinity());
    const int32_t n_in_lanes = n - n % kLanes;
    raise_lanes(lanes, logits, n_in_lanes);
    for (int32_t i = n_in_lanes; i < n; ++i) lanes[0] = std::max(lanes[0], logits[i]);
    return *std::max_element(lanes, lanes + kLanes);
}

}  // namespace chasqui
