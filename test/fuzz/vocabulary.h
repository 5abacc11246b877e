// Thread: main. Vocabularies without the models around them.
#pragma once

#include "llama/model.h"
#include "llama/tokenizer.h"

#include <string>
#include <vector>

namespace chasqui::fuzz {

// The demo model's: small, so that walking through a grammar is quick.
const Model& small_vocabulary();

// The files of llama.cpp's own tests, by name.
std::vector<std::string> vocabulary_files();

// Ends the log, and the backtraces that a debugger is started for.
void be_quiet();

}  // namespace chasqui::fuzz
