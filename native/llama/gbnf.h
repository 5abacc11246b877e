// Thread: any.
#pragma once

#include <string>

// What is changed about the grammars that llama.cpp makes for templates; all of it in their text.
namespace chasqui {

// llama.cpp lets an answer that must call a tool say anything before: a model that never comes to the point would never
// call it. The run of text before the call goes; reasoning stays, where the template has any.
std::string without_preamble(const std::string& gbnf);

// Where each call has marks of its own, llama.cpp lets them repeat whatever `parallel_tool_calls` says.
std::string with_one_call(std::string gbnf);

// llama.cpp lets a block of thought that the prompt opens stay open. What comes after would be read as thought.
std::string with_closed_thought(const std::string& gbnf);

// The JSON that an answer must be, without the code fence that llama.cpp demands of some models.
std::string without_fence(std::string gbnf);

// What begins with that text and goes on with what the grammar takes.
std::string after_text(const std::string& text, const std::string& gbnf);

// What either grammar takes.
std::string either_of(const std::string& one, const std::string& other);

}  // namespace chasqui
