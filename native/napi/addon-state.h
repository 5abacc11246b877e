// Thread: JS of one environment.
#pragma once

#include <napi.h>

#include <atomic>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chasqui {

class Engine;
class EngineWrap;
struct PendingLoad;

// An engine that is being closed on Node's thread pool.
struct Closing {
    explicit Closing(std::weak_ptr<Engine> which) : engine(std::move(which)) {}

    const std::weak_ptr<Engine> engine;
    std::atomic<bool>           has_stuck_work{false};  // some work did not end and keeps the engine
};

// What one Node environment (the main thread, or a worker thread) owns.
//
// process.exit() and uncaught exceptions skip Node's cleanup hooks but run C++ static destructors, including ggml's,
// while an engine thread may be decoding. So `shutdown` must run before: TypeScript calls it in process.on('exit'), and
// the cleanup hook when a worker ends.
struct AddonState {
    std::unordered_set<EngineWrap*>                  engines;
    std::unordered_set<std::shared_ptr<PendingLoad>> pending_loads;
    std::vector<std::shared_ptr<Closing>>            closing;
    Napi::FunctionReference                          engine_constructor;
    // Shared by all environments: threads that do not end run until the process ends.
    static inline std::atomic<bool> has_stuck_work{false};

    static AddonState& of(Napi::Env env) { return *env.GetInstanceData<AddonState>(); }

    // Stops and frees every engine, and aborts pending loads and waits for them. Blocks; idempotent.
    void shutdown();

private:
    void wait_for_closing();
};

}  // namespace chasqui
