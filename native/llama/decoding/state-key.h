// Thread: any.
#pragma once

#include "decoder.h"
#include "../model/model.h"

#include <string>
#include <vector>

namespace chasqui {

// Everything that the state of a sequence depends on except its tokens and adapters, as text: the weights, the context,
// and llama.cpp itself. States with equal keys are interchangeable. `context_length`: llama.cpp's, of one sequence.
std::string state_key(const Model& model, const DecoderOptions& options, uint32_t context_length);

// Identifies a version of a file without reading it: by inode, size and times. Programs cannot set one of the times,
// except on Windows. Empty: no such file.
std::string file_identity(const std::string& path);

// The same plus samples of the content. Throws std::exception if the file cannot be read.
std::string fingerprint(const std::string& path);

}  // namespace chasqui
