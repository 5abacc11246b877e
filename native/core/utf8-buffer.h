// Thread: a buffer belongs to the thread of its sequence; the functions may be called from any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chasqui {

// Turns a stream of bytes into valid UTF-8. An incomplete character at the end is held back, and bytes that cannot
// become a character are replaced by U+FFFD, as a browser's decoder does.
class Utf8Buffer {
public:
    // Appends `bytes` and returns the text that is complete now.
    std::string push(std::string_view bytes);
    bool is_holding() const { return !held_.empty(); }
    // Whether push(bytes) would replace nothing. A U+FFFD that is in the text itself does not count as replaced.
    bool fits(std::string_view bytes) const;
    // The text has ended: returns one U+FFFD if a character is incomplete.
    std::string flush();

private:
    std::string held_;  // the start of one character, at most three bytes
};

// `bytes` as valid UTF-8: a copy in which U+FFFD stands for what cannot become a character.
std::string to_valid_utf8(std::string_view bytes);
// Whether `bytes` are valid UTF-8 as they stand.
bool is_valid_utf8(std::string_view bytes);

// Length of valid UTF-8 in UTF-16 code units.
uint32_t utf16_length(std::string_view text);

}  // namespace chasqui
