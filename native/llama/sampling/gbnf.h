// Thread: any.
#pragma once

#include <string>
#include <string_view>

// Changes to the text of grammars that llama.cpp generates for templates.
namespace chasqui {

// Requires the closing tag of reasoning that the prompt opens. llama.cpp makes it optional, and without it the whole
// completion would be parsed as reasoning.
std::string with_closed_reasoning(const std::string& gbnf);

// Removes the code fence that llama.cpp requires around JSON for some models.
std::string without_fence(std::string gbnf);

// Renames every rule, so that grammars can be joined.
std::string with_prefixed_names(const std::string& gbnf, std::string_view prefix);

// A grammar for `text`, then `gbnf`.
std::string after_text(const std::string& text, const std::string& gbnf);

// A grammar for either of the two.
std::string either_of(const std::string& one, const std::string& other);

}  // namespace chasqui
