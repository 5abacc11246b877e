#pragma once

#include <string>
#include <string_view>

namespace chasqui::fuzz {

// Expands repetitions, so that small inputs can be long texts: "`63" stands for the three bytes before it, two to the
// tenth power (6 + 4) times in all. Repetitions that would make the text longer than `max_size` bytes are left as they
// are.
std::string with_repeats(std::string_view text, size_t max_size);

}  // namespace chasqui::fuzz
