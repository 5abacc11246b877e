// Thread: any.
#pragma once

#include "automaton.h"

namespace chasqui {

// The texts that match a regular expression of ECMA-262 with the flag `u`. Throws AutomatonLimit for
// look-around, back references and word boundaries, and for syntax errors.
Automaton texts_matching(const std::string& pattern);

}  // namespace chasqui
