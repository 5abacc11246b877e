#pragma once

#include "core/token-constraint.h"
#include "llama/grammar.h"

#include <string_view>

namespace chasqui::fuzz {

// Compiles the grammar for the small vocabulary, and follows it as a sequence does: each of the bytes chooses among what is
// allowed then. What the grammar refuses as `invalid_grammar` is an end like any other.
void compile_and_walk(const GrammarSettings& grammar, std::string_view choices);

}  // namespace chasqui::fuzz
