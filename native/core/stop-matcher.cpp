#include "stop-matcher.h"

#include <algorithm>
#include <utility>

namespace chasqui {

std::string StopMatcher::push(std::string_view text) {
    if (!matched_.empty()) return {};
    if (stops_.empty()) return std::string(text);

    held_.append(text);
    size_t first = std::string::npos;
    for (const std::string& stop : stops_) {
        const size_t at = held_.find(stop);
        if (at < first) {
            first    = at;
            matched_ = stop;
        }
    }
    if (first != std::string::npos) {
        held_.resize(first);
        return std::exchange(held_, {});
    }

    const size_t keep = n_bytes_to_hold();
    std::string  safe = held_.substr(0, held_.size() - keep);
    held_.erase(0, safe.size());
    return safe;
}

std::string StopMatcher::flush() { return std::exchange(held_, {}); }

// Length of the longest suffix of the text that is a prefix of a stop string.
size_t StopMatcher::n_bytes_to_hold() const {
    size_t length = 0;
    for (const std::string& stop : stops_) {
        for (size_t n = std::min(stop.size() - 1, held_.size()); n > length; --n) {
            if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) {
                length = n;
                break;
            }
        }
    }
    return length;
}

}  // namespace chasqui
