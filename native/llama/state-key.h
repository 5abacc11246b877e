// Thread: any.
#pragma once

#include "decoder.h"
#include "model.h"

#include <string>
#include <vector>

namespace chasqui {

// All that the state of a sequence depends on beside its tokens and adapters, as text: the weights, how the context
// computes, and llama.cpp itself. States of equal keys mean the same. `context_length`: of a sequence in llama.cpp.
std::string state_key(const Model& model, const DecoderOptions& options, uint32_t context_length);

// What tells a file from any other, and from what it was before it was changed, without reading it: which file it is, its
// size, and its times, one of which programs cannot set. Windows does not tell the latter. Empty: there is no such file.
std::string file_identity(const std::string& path);

// The same with samples from all over it. Throws std::exception if it cannot be read.
std::string fingerprint(const std::string& path);

}  // namespace chasqui
