// Thread: any.
#pragma once

#include <string>
#include <vector>

namespace chasqui {

// llama.cpp has names for common forms of conversations, without tools or reasoning, and code for each of them. Here
// they are Jinja templates that say the same, so that everything else is as with any other template.

// The names that are known here.
std::vector<std::string> known_templates();
// The Jinja template that `text` names, or `text` itself if it is one. Throws `invalid_options` if it is neither.
std::string template_source(const std::string& text);

}  // namespace chasqui
