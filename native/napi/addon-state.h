// Thread: JS of one environment.
#pragma once

#include <napi.h>

#include <memory>
#include <unordered_set>
#include <vector>

namespace chasqui {

class Engine;
class EngineWrap;
struct Opening;

// What one Node environment (the main thread, or a worker thread) owns.
//
// Node runs no cleanup hooks on process.exit() and on an uncaught exception, but it does run C++ static destructors,
// ggml's among them, while an engine thread may be decoding. So `shutdown` must have run before: TypeScript calls it
// from process.on('exit'), and the cleanup hook calls it when a worker ends.
struct AddonState {
    std::unordered_set<EngineWrap*>              engines;
    std::unordered_set<std::shared_ptr<Opening>> openings;
    std::vector<std::weak_ptr<Engine>>           closing;  // close() was called, and is under way on the pool
    Napi::FunctionReference                      engine_constructor;
    bool                                         leaves_work_behind = false;  // threads that could not be ended

    static AddonState& of(Napi::Env env) { return *env.GetInstanceData<AddonState>(); }

    // Stops and frees every engine, and aborts and awaits those that are still loading. Blocks; idempotent.
    void shutdown();

private:
    void wait_for_closing();
};

}  // namespace chasqui
