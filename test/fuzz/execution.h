#pragma once

#include <cstddef>

namespace chasqui::fuzz {

// A limit of the product, divided by what CMakeLists.txt says.
constexpr size_t divided(size_t limit) { return limit / CHASQUI_FUZZ_DIVISOR; }

// Counts an input that gets to the parser, which libFuzzer's own count does not tell from one that the target passes over.
// The number is printed when the program ends, and the CPU time that the program took.
void count_execution();

}  // namespace chasqui::fuzz
