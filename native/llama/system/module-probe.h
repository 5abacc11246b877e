// Thread: any. Runs in its own process, because a bad module may crash or hang it: `ts/native/probe-child.ts`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chasqui {

// A device of a module, with its memory in bytes (0: not reported by the driver).
struct DeviceInfo {
    std::string name;
    std::string description;
    std::string type;  // cpu, gpu, igpu, accel
    uint64_t    memory_free  = 0;
    uint64_t    memory_total = 0;
};

// How well a CPU module fits this CPU: higher is better, 0 means that it would not run. A module without a score
// gets 1. Throws std::runtime_error with the loader's message if the file cannot be loaded.
int score_module(const std::string& path);

// Loads the module and multiplies small matrices on each device, for floats and every weight format. Throws
// std::runtime_error if it does not load, has no device, or computes wrongly. `on_step` is called after each product,
// because a driver that first compiles its kernels may take seconds for one.
std::vector<DeviceInfo> probe_module(const std::string& path, const std::function<void()>& on_step);

}  // namespace chasqui
