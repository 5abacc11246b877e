#include "utf8-buffer.h"

#include <cstddef>

namespace chasqui {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Verdict { complete, incomplete, invalid };

struct Scan {
    Verdict verdict;
    size_t  length;  // bytes of the character, or of the part that is wrong
};

// The range that the second byte must be in: narrower than 80..BF where longer forms, surrogates or values above
// U+10FFFF would slip through (Unicode 15, table 3-7).
bool second_byte_fits(unsigned char first, unsigned char second) {
    switch (first) {
        case 0xE0: return second >= 0xA0 && second <= 0xBF;
        case 0xED: return second >= 0x80 && second <= 0x9F;
        case 0xF0: return second >= 0x90 && second <= 0xBF;
        case 0xF4: return second >= 0x80 && second <= 0x8F;
        default: return second >= 0x80 && second <= 0xBF;
    }
}

Scan scan_character(std::string_view bytes) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (first < 0x80) return {Verdict::complete, 1};
    if (first < 0xC2 || first > 0xF4) return {Verdict::invalid, 1};
    const size_t need = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < need; ++i) {
        if (i == bytes.size()) return {Verdict::incomplete, i};
        const auto byte = static_cast<unsigned char>(bytes[i]);
        const bool fits = i == 1 ? second_byte_fits(first, byte) : (byte & 0xC0) == 0x80;
        if (!fits) return {Verdict::invalid, i};
    }
    return {Verdict::complete, need};
}

}  // namespace

std::string Utf8Buffer::push(std::string_view bytes) {
    held_.append(bytes);
    std::string      text;
    std::string_view rest = held_;
    while (!rest.empty()) {
        const Scan scan = scan_character(rest);
        if (scan.verdict == Verdict::incomplete) break;
        text.append(scan.verdict == Verdict::complete ? rest.substr(0, scan.length) : kReplacement);
        rest.remove_prefix(scan.length);
    }
    held_.erase(0, held_.size() - rest.size());
    return text;
}

std::string Utf8Buffer::flush() {
    if (held_.empty()) return {};
    held_.clear();
    return std::string(kReplacement);
}

uint32_t utf16_length(std::string_view text) {
    uint32_t units = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0) == 0x80) continue;
        units += byte >= 0xF0 ? 2 : 1;
    }
    return units;
}

}  // namespace chasqui
