// Thread: a buffer belongs to the thread of its sequence; the functions may be called from any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chasqui {

// Converts a stream of bytes to valid UTF-8. Holds an incomplete character at the end back, and replaces invalid bytes
// by U+FFFD as browsers do.
class Utf8Buffer {
public:
    // Appends `bytes` and returns the text that is complete.
    std::string push(std::string_view bytes);
    bool is_holding() const { return !held_.empty(); }
    // Whether push(bytes) would replace nothing. A U+FFFD in the text itself is not a replacement.
    bool fits(std::string_view bytes) const;
    // The text has ended: returns U+FFFD if a character is incomplete.
    std::string flush();

private:
    std::string held_;  // start of one character, at most three bytes
};

// A copy of `bytes` with U+FFFD in place of invalid parts.
std::string to_valid_utf8(std::string_view bytes);
bool is_valid_utf8(std::string_view bytes);

// Length of valid UTF-8 in UTF-16 code units.
uint32_t utf16_length(std::string_view text);

}  // namespace chasqui
