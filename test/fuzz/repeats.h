#pragma once

#include <string>
#include <string_view>

namespace chasqui::fuzz {

// Repetitions, written short, so that small inputs can be long texts: "`63" stands for the three bytes before it, two to
// the tenth power (6 + 4) times in all. What would make the text longer than `most` bytes is left as it is.
std::string with_repeats(std::string_view text, size_t most);

}  // namespace chasqui::fuzz
