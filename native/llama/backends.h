// Thread: any; the first call does the work.
#pragma once

#include <string>

namespace chasqui {

// Loads ggml's backend modules (CPU variants, and GPU backends if there are any) from `directory` and starts
// llama.cpp. Once per process: later calls return at once. Throws `model_load_failed` when no CPU backend can be used.
void load_backends(const std::string& directory, bool verbose);

}  // namespace chasqui
