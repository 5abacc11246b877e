#include "backends.h"

#include "../../core/error-code.h"
#include "log.h"

#include <ggml-backend.h>
#include <llama.h>

#include <mutex>
#include <string>
#include <utility>

namespace chasqui {

void load_backends(const std::vector<std::string>& modules, bool verbose) {
    static std::mutex mutex;
    static bool       loaded = false;

    const std::lock_guard<std::mutex> lock(mutex);
    if (loaded) return;
    capture_log(verbose);
    // Explicit paths only: ggml would also search the folder of the Node binary and the working directory.
    for (const std::string& path : modules) ggml_backend_load(path.c_str());
    if (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == nullptr) {
        const std::string said = take_last_errors();
        throw Error(failure_code(said), "No CPU backend of ggml could be loaded. " + said);
    }
    llama_backend_init();
    loaded = true;
}

void use_numa(const std::string& strategy) {
    static std::mutex mutex;
    static bool       used = false;

    constexpr std::pair<const char*, ggml_numa_strategy> kStrategies[] = {
        {"distribute", GGML_NUMA_STRATEGY_DISTRIBUTE},
        {"isolate", GGML_NUMA_STRATEGY_ISOLATE},
        {"numactl", GGML_NUMA_STRATEGY_NUMACTL}};
    if (strategy.empty()) return;
    for (const auto& [name, value] : kStrategies) {
        if (strategy != name) continue;
        const std::lock_guard<std::mutex> lock(mutex);
        if (!used) llama_numa_init(value);
        used = true;
        return;
    }
    throw Error(ErrorCode::invalid_options, "There is no NUMA strategy `" + strategy + "`.");
}

}  // namespace chasqui
