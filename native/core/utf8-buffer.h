// Thread: engine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chasqui {

// Turns a stream of bytes into valid UTF-8: a character that is still incomplete is held back, and whatever can never
// become one is replaced by U+FFFD, as a browser's decoder would do.
class Utf8Buffer {
public:
    // Appends `bytes` and returns the text that is now certain.
    std::string push(std::string_view bytes);
    bool is_holding() const { return !held_.empty(); }
    // Returns what was held back: the end has come, so an incomplete character becomes one U+FFFD.
    std::string flush();

private:
    std::string held_;  // the start of one character, at most three bytes
};

// Length of valid UTF-8 in UTF-16 code units.
uint32_t utf16_length(std::string_view text);

}  // namespace chasqui
