#include "utf8-buffer.h"

#include <cstddef>

namespace chasqui {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Validity { complete, incomplete, invalid };

struct Scan {
    Validity validity;
    size_t   length;  // bytes of the character or of its invalid part
};

// The range of the second byte is narrower than 80..BF where it would otherwise allow overlong forms, surrogates or
// values above U+10FFFF (Unicode 15, table 3-7).
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
    if (first < 0x80) return {Validity::complete, 1};
    if (first < 0xC2 || first > 0xF4) return {Validity::invalid, 1};
    const size_t need = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < need; ++i) {
        if (i == bytes.size()) return {Validity::incomplete, i};
        const auto byte = static_cast<unsigned char>(bytes[i]);
        const bool fits = i == 1 ? second_byte_fits(first, byte) : (byte & 0xC0) == 0x80;
        if (!fits) return {Validity::invalid, i};
    }
    return {Validity::complete, need};
}

std::string_view without_first_characters(std::string_view bytes) {
    while (!bytes.empty()) {
        const Scan scan = scan_character(bytes);
        if (scan.validity != Validity::complete) break;
        bytes.remove_prefix(scan.length);
    }
    return bytes;
}

}  // namespace

std::string Utf8Buffer::push(std::string_view bytes) {
    held_.append(bytes);
    std::string      text;
    std::string_view rest = held_;
    while (!rest.empty()) {
        const Scan scan = scan_character(rest);
        if (scan.validity == Validity::incomplete) break;
        text.append(scan.validity == Validity::complete ? rest.substr(0, scan.length) : kReplacement);
        rest.remove_prefix(scan.length);
    }
    held_.erase(0, held_.size() - rest.size());
    return text;
}

bool Utf8Buffer::fits(std::string_view bytes) const {
    const std::string      all  = held_ + std::string(bytes);
    const std::string_view rest = without_first_characters(all);
    return rest.empty() || scan_character(rest).validity == Validity::incomplete;
}

std::string Utf8Buffer::flush() {
    if (held_.empty()) return {};
    held_.clear();
    return std::string(kReplacement);
}

std::string to_valid_utf8(std::string_view bytes) {
    Utf8Buffer  buffer;
    std::string text = buffer.push(bytes);
    return text + buffer.flush();
}

bool is_valid_utf8(std::string_view bytes) { return without_first_characters(bytes).empty(); }

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
