// Thread: start() on JS, loading on Node's thread pool.
#pragma once

#include "../core/prepare-pool.h"
#include "../engine.h"
#include "error.h"

#include <napi.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chasqui {

// A load in progress that can be aborted.
struct PendingLoad {
    std::atomic<bool>       aborted{false};
    std::mutex              mutex;
    std::condition_variable ended_changed;
    bool                    ended = false;

    void abort_and_wait();
    void mark_ended();
};

struct OpenRequest {
    std::vector<std::string> modules;  // absolute paths of ggml modules
    bool                     verbose = false;
    std::string              path;
    EngineOptions            options;
    PreparePool::Options     preparation;
};

// Loads a model and starts its engine off the JS thread.
class OpenWorker : public Napi::AsyncProgressWorker<float> {
public:
    struct Started {
        Napi::Promise                promise;  // resolves with an Engine object
        std::shared_ptr<PendingLoad> pending_load;
    };
    // `on_progress(fraction)` may be empty; `on_events`: see event-pump.h.
    static Started start(Napi::Env env, OpenRequest request, Napi::Function on_progress, Napi::Function on_events);

private:
    OpenWorker(Napi::Env env, OpenRequest request, Napi::Function on_progress, Napi::Function on_events);

    void Execute(const ExecutionProgress& progress) override;
    void OnProgress(const float* fraction, size_t count) override;
    void OnOK() override;
    void OnError(const Napi::Error& error) override;

    OpenRequest                  request_;
    std::shared_ptr<PendingLoad> pending_load_ = std::make_shared<PendingLoad>();
    std::shared_ptr<Engine>      engine_;
    CaughtError                  error_;
    Napi::FunctionReference      on_progress_;
    Napi::FunctionReference      on_events_;
    Napi::Promise::Deferred      deferred_;
};

}  // namespace chasqui
