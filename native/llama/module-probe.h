// Thread: any. Runs in a process of its own, because a bad module may end it or hang: `ts/native/probe-child.ts`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chasqui {

// A device of a module, with its memory in bytes (0 if the driver does not report it).
struct DeviceInfo {
    std::string name;
    std::string description;
    std::string type;  // cpu, gpu, igpu, accel
    uint64_t    memory_free  = 0;
    uint64_t    memory_total = 0;
};

// How well a CPU module fits this CPU: higher is better, 0 means that it would not run. A module without a score gets
// 1. Throws std::runtime_error with the loader's message when the file cannot be loaded.
int score_module(const std::string& path);

// Loads the module and lets each of its devices multiply small matrices, of floats and of quantised weights, in each of
// its formats to store weights. Throws std::runtime_error when it does not load, finds no device, or computes wrongly.
// `on_step` is called after each product, because a driver that compiles its kernels first may take seconds for one.
std::vector<DeviceInfo> probe_module(const std::string& path, const std::function<void()>& on_step);

}  // namespace chasqui
