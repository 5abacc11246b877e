// Thread: any.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace chasqui {

// llama.cpp has names and code for common chat formats without tools or reasoning. Here they are equivalent Jinja
// templates, so they are handled like any other template.

std::vector<std::string> known_templates();
// The Jinja template named `text`, or `text` itself if it is one. Throws `invalid_options` if it is neither.
std::string template_source(const std::string& text);
// The message that a template raised, without its position in the template, from an error of llama.cpp's Jinja engine.
// Other errors are returned unchanged.
std::string raised_message(const std::string& error);
// Throws `model_load_failed` for a template that llama.cpp cannot read.
[[noreturn]] void refuse_template(const std::exception& error, const std::string& source);

}  // namespace chasqui
