#include "snapshot-points.h"

#include <algorithm>

namespace chasqui {

namespace {

// Fewer tokens are computed as fast as a state is brought back.
constexpr size_t kFewest = 32;
// A slice of the prompt ends at each point, and short slices are slow ones. What a state takes grows with the length in
// hybrid models; with the distances growing as well, all of them together take a few times what the last one does.
constexpr size_t kLeastDistance = 256;
constexpr size_t kFraction      = 4;
// A prompt without messages goes on with tokens that may merge with its last ones.
constexpr size_t kSeam = 4;
// The answer begins soon after the last message does, if that is what the model is asked for.
constexpr size_t kHeader = 16;

}  // namespace

std::vector<size_t> snapshot_points(const std::vector<size_t>& message_starts, size_t n_prompt) {
    if (n_prompt < kFewest + kSeam) return {};
    std::vector<size_t> points;
    for (const size_t start : message_starts) {
        const size_t previous = points.empty() ? 0 : points.back();
        const size_t distance = points.empty() ? kFewest : std::max(kLeastDistance, previous / kFraction);
        if (start >= previous + distance && start < n_prompt) points.push_back(start);
    }
    const bool   ends_with_header = !message_starts.empty() && message_starts.back() + kHeader >= n_prompt;
    const size_t last             = ends_with_header ? message_starts.back() : n_prompt - kSeam;
    if (last >= kFewest && last < n_prompt && (points.empty() || last > points.back())) points.push_back(last);
    return points;
}

}  // namespace chasqui
