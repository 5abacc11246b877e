#include "addon-state.h"

#include "engine-wrap.h"
#include "open-worker.h"

#include <chrono>
#include <thread>

namespace chasqui {

namespace {

constexpr auto kLongestClosing = std::chrono::seconds(10);

}  // namespace

// A worker of Node's closes them, within a step and the time that preparation gets to end.
void AddonState::wait_for_closing() {
    const auto until = std::chrono::steady_clock::now() + kLongestClosing;
    for (const auto& each : closing) {
        while (!each->engine.expired() && !each->leaves_work_behind && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (!each->engine.expired()) leaves_work_behind = true;
    }
}

void AddonState::shutdown() {
    for (const auto& opening : openings) opening->abort_and_wait();
    const auto open_engines = engines;  // each one takes itself out
    for (EngineWrap* engine : open_engines) engine->shutdown();
    wait_for_closing();
    closing.clear();
}

}  // namespace chasqui
