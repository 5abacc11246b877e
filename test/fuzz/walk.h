#pragma once

#include "core/token-constraint.h"
#include "llama/sampling/grammar.h"

#include <string_view>

namespace chasqui::fuzz {

// Compiles the grammar for the small vocabulary and follows it as a sequence does; each of the bytes chooses among the
// tokens that are allowed at that point. An `invalid_grammar` error ends the walk like any other end.
void compile_and_walk(const GrammarSettings& grammar, std::string_view choices);

}  // namespace chasqui::fuzz
