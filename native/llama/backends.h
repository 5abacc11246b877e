// Thread: any; the first call does the work.
#pragma once

#include <string>
#include <vector>

namespace chasqui {

// Loads these modules of ggml, GPU modules and one for the CPU, by their absolute paths, and initialises llama.cpp.
// Happens once per process: later calls return at once. Throws `model_load_failed` when no CPU backend could be loaded.
void load_backends(const std::vector<std::string>& modules, bool verbose);

// How threads are spread over the nodes of a machine with several memories: distribute, isolate or numactl; empty: not
// at all. Only the first call of a process that names one has an effect, and load_backends() comes before it. Throws
// `invalid_options`.
void use_numa(const std::string& strategy);

}  // namespace chasqui
