#include "stop-matcher.h"

#include <algorithm>
#include <utility>

namespace chasqui {

StopMatcher::StopMatcher(std::vector<std::string> stops, std::vector<std::string> format_stops)
    : stops_(std::move(format_stops)), n_format_stops_(stops_.size()) {
    stops_.insert(stops_.end(), stops.begin(), stops.end());
}

std::string StopMatcher::push(std::string_view text, bool in_format) {
    if (!matched_.empty()) return {};
    if (stops_.empty()) return std::string(text);

    held_.append(text);
    const size_t n_stops = in_format ? n_format_stops_ : stops_.size();
    size_t       first   = std::string::npos;
    for (size_t i = 0; i < n_stops; ++i) {
        const size_t at = held_.find(stops_[i]);
        if (at < first) {
            first    = at;
            matched_ = stops_[i];
        }
    }
    if (first != std::string::npos) {
        held_.resize(first);
        return std::exchange(held_, {});
    }

    const size_t keep = n_bytes_to_hold(n_stops);
    std::string  safe = held_.substr(0, held_.size() - keep);
    held_.erase(0, safe.size());
    return safe;
}

std::string StopMatcher::flush() { return std::exchange(held_, {}); }

// Length of the longest suffix of the text that is a prefix of a stop string.
size_t StopMatcher::n_bytes_to_hold(size_t n_stops) const {
    size_t length = 0;
    for (size_t i = 0; i < n_stops; ++i) {
        const std::string& stop = stops_[i];
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
