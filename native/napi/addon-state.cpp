#include "addon-state.h"

#include "engine-wrap.h"
#include "open-worker.h"

#include <chrono>
#include <thread>

namespace chasqui {

namespace {

constexpr auto kCloseTimeout = std::chrono::seconds(10);

}  // namespace

// Waits for the engines that close() is closing, which takes up to a step plus the grace period of the preparation
// pool.
void AddonState::wait_for_closing() {
    const auto until = std::chrono::steady_clock::now() + kCloseTimeout;
    for (const auto& each : closing) {
        while (!each->engine.expired() && !each->has_stuck_work && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (!each->engine.expired()) has_stuck_work = true;
    }
}

void AddonState::shutdown() {
    for (const auto& each : pending_loads) each->abort_and_wait();
    const auto open_engines = engines;  // a copy, because each engine removes itself from the set
    for (EngineWrap* engine : open_engines) engine->shutdown();
    wait_for_closing();
    closing.clear();
}

}  // namespace chasqui
