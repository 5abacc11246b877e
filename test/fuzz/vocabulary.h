// Thread: main. Vocabularies without the models around them.
#pragma once

#include "llama/model/model.h"
#include "llama/model/tokenizer.h"

#include <string>
#include <vector>

namespace chasqui::fuzz {

// The demo model's vocabulary, which is small, so that following a grammar is fast.
const Model& small_vocabulary();

// The vocabularies of llama.cpp's tests, by name.
std::vector<std::string> vocabulary_files();

// Disables logs, and backtraces, which llama.cpp creates with a debugger.
void be_quiet();

}  // namespace chasqui::fuzz
