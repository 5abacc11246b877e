#include "snapshot-points.h"

#include <algorithm>

namespace chasqui {

namespace {

// Shorter prefixes are computed as fast as their state is loaded.
constexpr size_t kMinPoint = 32;
// Each point ends a slice of the prompt, and short slices are slow. In hybrid models a state grows with the prefix, so
// the distances grow as well: each is at least a quarter of the prefix, and all states together take a few times the
// memory of the last one.
constexpr size_t kMinDistance     = 256;
constexpr size_t kDistanceDivisor = 4;
// The last tokens of a prompt without messages may be tokenized differently once more text follows.
constexpr size_t kUnstableTailTokens = 4;
// A prompt that asks for a message ends with that message's header of at most this many tokens.
constexpr size_t kMaxHeaderTokens = 16;

}  // namespace

std::vector<size_t> snapshot_points(const std::vector<size_t>& message_starts, size_t n_prompt) {
    if (n_prompt < kMinPoint + kUnstableTailTokens) return {};
    std::vector<size_t> points;
    for (const size_t start : message_starts) {
        const size_t previous = points.empty() ? 0 : points.back();
        const size_t distance = points.empty() ? kMinPoint : std::max(kMinDistance, previous / kDistanceDivisor);
        if (start >= previous + distance && start < n_prompt) points.push_back(start);
    }
    const bool   ends_with_header = !message_starts.empty() && message_starts.back() + kMaxHeaderTokens >= n_prompt;
    const size_t last             = ends_with_header ? message_starts.back() : n_prompt - kUnstableTailTokens;
    if (last >= kMinPoint && last < n_prompt && (points.empty() || last > points.back())) points.push_back(last);
    return points;
}

}  // namespace chasqui
