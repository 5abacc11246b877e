#include "code-set.h"

#include <algorithm>

namespace chasqui {

CodeSet::CodeSet(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end());
    for (const Range& range : ranges) {
        if (!ranges_.empty() && range.first <= uint64_t{ranges_.back().second} + 1) {
            ranges_.back().second = std::max(ranges_.back().second, range.second);
        } else {
            ranges_.push_back(range);
        }
    }
}

CodeSet CodeSet::inverse() const {
    std::vector<Range> result;
    uint64_t           first = 0;
    for (const Range& range : ranges_) {
        if (range.first > first) result.emplace_back(static_cast<uint32_t>(first), range.first - 1);
        first = uint64_t{range.second} + 1;
    }
    if (first <= UINT32_MAX) result.emplace_back(static_cast<uint32_t>(first), UINT32_MAX);
    return CodeSet(std::move(result));
}

CodeSet CodeSet::join(const CodeSet& other) const {
    std::vector<Range> result = ranges_;
    result.insert(result.end(), other.ranges_.begin(), other.ranges_.end());
    return CodeSet(std::move(result));
}

CodeTable::CodeTable(CodeSet set) : set_(std::move(set)) {
    for (const auto& [first, last] : set_.ranges()) {
        for (uint32_t code = first; code < kPlane && code <= last; ++code) plane_.set(code);
    }
}

bool CodeTable::search(uint32_t code) const {
    const auto& ranges = set_.ranges();
    const auto  it = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](uint32_t value, const CodeSet::Range& range) { return value < range.first; });
    return it != ranges.begin() && code <= (it - 1)->second;
}

}  // namespace chasqui
