#include "code-points.h"

#include <algorithm>

namespace chasqui::schema {

namespace {

constexpr uint32_t kLast          = 0x10FFFF;
constexpr uint32_t kSurrogates    = 0xD800;
constexpr uint32_t kLastSurrogate = 0xDFFF;

// The length of the sequence that a byte starts, 0 if none.
size_t sequence_length(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead < 0xE0) return 2;
    if (lead >= 0xE0 && lead < 0xF0) return 3;
    return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

}  // namespace

CodePoints CodePoints::all() { return {0, kLast}; }

void CodePoints::add(uint32_t first, uint32_t last) {
    if (first <= kLastSurrogate && last >= kSurrogates) {
        if (first < kSurrogates) add(first, kSurrogates - 1);
        if (last > kLastSurrogate) add(kLastSurrogate + 1, last);
        return;
    }
    const auto begin = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                        [](const CodePointRange& range, uint32_t at) { return range.last + 1 < at; });
    auto       end   = begin;
    for (; end != ranges_.end() && end->first <= last + 1; ++end) {
        first = std::min(first, end->first);
        last  = std::max(last, end->last);
    }
    ranges_.insert(ranges_.erase(begin, end), CodePointRange{first, last});
}

void CodePoints::add(const CodePoints& other) {
    for (const CodePointRange& range : other.ranges_) add(range.first, range.last);
}

CodePoints CodePoints::complement() const {
    CodePoints result;
    uint32_t   next = 0;
    for (const CodePointRange& range : ranges_) {
        if (range.first > next) result.add(next, range.first - 1);
        next = range.last + 1;
    }
    if (next <= kLast) result.add(next, kLast);
    return result;
}

CodePoints CodePoints::intersect(const CodePoints& other) const {
    CodePoints result;
    for (auto a = ranges_.begin(), b = other.ranges_.begin(); a != ranges_.end() && b != other.ranges_.end();) {
        const uint32_t first = std::max(a->first, b->first), last = std::min(a->last, b->last);
        if (first <= last) result.add(first, last);
        if (a->last < b->last) {
            ++a;
        } else {
            ++b;
        }
    }
    return result;
}

bool CodePoints::is_single() const { return ranges_.size() == 1 && ranges_[0].first == ranges_[0].last; }

bool CodePoints::contains(uint32_t code_point) const {
    const auto found = std::lower_bound(ranges_.begin(), ranges_.end(), code_point,
                                        [](const CodePointRange& range, uint32_t at) { return range.last < at; });
    return found != ranges_.end() && found->first <= code_point;
}

std::vector<uint32_t> code_points_of(const std::string& text) {
    std::vector<uint32_t> result;
    for (size_t i = 0; i < text.size();) {
        const auto   lead   = static_cast<unsigned char>(text[i]);
        const size_t length = sequence_length(lead);
        uint32_t     point  = length <= 1 ? lead : lead & (0xFFU >> (length + 1));
        bool         valid  = length > 0 && i + length <= text.size();
        for (size_t k = 1; valid && k < length; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            valid           = (next & 0xC0U) == 0x80;
            point           = point << 6U | (next & 0x3FU);
        }
        result.push_back(valid ? point : 0xFFFD);
        i += valid ? length : 1;
    }
    return result;
}

void append_utf8(std::string& text, uint32_t code_point) {
    const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
    if (code_point < 0x80) return put(code_point);
    if (code_point < 0x800) {
        put(0xC0 | code_point >> 6U);
    } else {
        if (code_point < 0x10000) {
            put(0xE0 | code_point >> 12U);
        } else {
            put(0xF0 | code_point >> 18U);
            put(0x80 | (code_point >> 12U & 0x3FU));
        }
        put(0x80 | (code_point >> 6U & 0x3FU));
    }
    put(0x80 | (code_point & 0x3FU));
}

}  // namespace chasqui::schema
