// Thread: any.
#pragma once

#include "../schema/patterns/automaton.h"

#include <string>
#include <vector>

// Sets of strings that calls contain as they are. No string contains NUL.
namespace chasqui::raw_texts {

schema::Automaton any();
schema::Automaton none();
schema::Automaton of(const std::vector<std::string>& texts, schema::Budget& budget);
schema::Automaton complement(const schema::Automaton& texts, schema::Budget& budget);

// Matches texts that contain `end`, or would with `end` appended, before its last character.
schema::RegexPtr ended_early(const std::string& end);

}  // namespace chasqui::raw_texts
