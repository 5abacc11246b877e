// Thread: any. Runs in a process of its own, which a bad module may end or hang without harm: `ts/native/trial.ts`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chasqui {

// What one device of a module is called, and its memory in bytes (0 where the driver does not say).
struct DeviceInfo {
    std::string name;
    std::string description;
    std::string type;  // cpu, gpu, igpu, accel
    uint64_t    memory_free  = 0;
    uint64_t    memory_total = 0;
};

// How well a CPU module fits this CPU: higher is better, 0 means that it would not run. Modules that have no score
// of their own get 1. Throws std::runtime_error with the loader's words when the file cannot be loaded.
int score_module(const std::string& path);

// Loads the module and has each of its devices multiply small matrices, of floats and of quantised weights, in each of
// its ways to store weights. Throws std::runtime_error when it does not load, finds no device, or computes wrongly.
// `on_step` is called after each product: a driver that compiles its kernels first may take seconds for one.
std::vector<DeviceInfo> try_module(const std::string& path, const std::function<void()>& on_step);

}  // namespace chasqui
