// Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace chasqui {

// The markup that a chat template searches for in messages, such as `</think>` in `content.split('</think>')`. Templates
// that find it in ordinary text lose a part of the message.
std::vector<std::string> searched_markup(const std::string& template_source);

// Whether a marker is a switch that users write for the template: `/no_think` on a line of its own, or at the beginning
// or end of the text.
bool is_switch(const std::string& text, size_t at, size_t size);

}  // namespace chasqui
