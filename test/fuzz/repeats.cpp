#include "repeats.h"

namespace chasqui::fuzz {

namespace {

constexpr char kMark = '`';

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string with_repeats(std::string_view text, size_t max_size) {
    std::string result;
    for (size_t at = 0; at < text.size(); ++at) {
        const bool is_mark = text[at] == kMark && at + 2 < text.size() && is_digit(text[at + 1]) && is_digit(text[at + 2]);
        if (is_mark) {
            const auto   power = static_cast<unsigned>(text[at + 1] - '0') + 4;
            const auto   length = static_cast<size_t>(text[at + 2] - '0');
            const size_t times  = (size_t{1} << power) - 1;
            if (length > 0 && length <= result.size() && result.size() + times * length <= max_size) {
                const std::string unit = result.substr(result.size() - length);
                for (size_t i = 0; i < times; ++i) result += unit;
                at += 2;
                continue;
            }
        }
        result += text[at];
    }
    return result;
}

}  // namespace chasqui::fuzz
