// Thread: any.
#pragma once

#include <string>

// Changes to the text of grammars that llama.cpp generates for templates.
namespace chasqui {

// If a tool call is required, llama.cpp allows any text before it, so a model might never get there. Removes the text
// before the call; keeps reasoning, if the template has any.
std::string without_preamble(const std::string& gbnf);

// If each call has its own tags, llama.cpp allows any number of calls regardless of `parallel_tool_calls`. Allows one.
std::string with_one_call(std::string gbnf);

// Requires the closing tag of reasoning that the prompt opens. llama.cpp makes it optional, and without it the whole
// completion would be parsed as reasoning.
std::string with_closed_reasoning(const std::string& gbnf);

// Removes the code fence that llama.cpp requires around JSON for some models.
std::string without_fence(std::string gbnf);

// A grammar for `text`, then `gbnf`.
std::string after_text(const std::string& text, const std::string& gbnf);

// A grammar for either of the two.
std::string either_of(const std::string& one, const std::string& other);

}  // namespace chasqui
