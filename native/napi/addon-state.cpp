#include "addon-state.h"

#include "engine-wrap.h"
#include "open-worker.h"

#include <chrono>
#include <thread>

namespace chasqui {

void AddonState::shutdown() {
    for (const auto& opening : openings) opening->abort_and_wait();
    const auto open_engines = engines;  // each one takes itself out
    for (EngineWrap* engine : open_engines) engine->shutdown();
    for (const auto& engine : closing) {
        while (!engine.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    closing.clear();
}

}  // namespace chasqui
