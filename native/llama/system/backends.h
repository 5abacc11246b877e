// Thread: any.
#pragma once

#include <string>
#include <vector>

namespace chasqui {

// Loads ggml modules (for GPUs and one for the CPU) by their absolute paths, and initialises llama.cpp. Once per
// process: later calls do nothing. Throws `model_load_failed` if no CPU backend could be loaded.
void load_backends(const std::vector<std::string>& modules, bool verbose);

// Distributes threads over NUMA nodes: distribute, isolate or numactl; empty: no. Only the first strategy of a process
// has an effect, and load_backends() must be called before. Throws `invalid_options`.
void use_numa(const std::string& strategy);

}  // namespace chasqui
