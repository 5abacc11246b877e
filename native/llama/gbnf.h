// Thread: any.
#pragma once

#include <string>

// Changes to the grammars that llama.cpp makes for templates. All of them edit the grammar's text.
namespace chasqui {

// If a completion must call a tool, llama.cpp allows any text before the call, and a model might never reach it. This
// removes the run of text before the call; reasoning stays, if the template has any.
std::string without_preamble(const std::string& gbnf);

// Where each call is enclosed in tags of its own, llama.cpp allows any number of calls whatever `parallel_tool_calls`
// says. This allows one.
std::string with_one_call(std::string gbnf);

// llama.cpp allows reasoning that the prompt opens to stay open, and what follows would be read as reasoning. This
// demands the closing tag.
std::string with_closed_reasoning(const std::string& gbnf);

// Removes the code fence that llama.cpp demands around JSON for some models.
std::string without_fence(std::string gbnf);

// A grammar for `text`, followed by what `gbnf` describes.
std::string after_text(const std::string& text, const std::string& gbnf);

// A grammar for what either of the two describes.
std::string either_of(const std::string& one, const std::string& other);

}  // namespace chasqui
