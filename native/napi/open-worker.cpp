#include "open-worker.h"

#include "../llama/system/backends.h"
#include "../llama/system/log.h"
#include "addon-state.h"
#include "engine-wrap.h"

#include <utility>

namespace chasqui {

void PendingLoad::abort_and_wait() {
    aborted = true;
    std::unique_lock<std::mutex> lock(mutex);
    ended_changed.wait(lock, [this] { return ended; });
}

void PendingLoad::mark_ended() {
    {
        const std::lock_guard<std::mutex> lock(mutex);
        ended = true;
    }
    ended_changed.notify_all();
}

OpenWorker::Started OpenWorker::start(Napi::Env env, OpenRequest request, Napi::Function on_progress,
                                      Napi::Function on_events) {
    auto* worker = new OpenWorker(env, std::move(request), on_progress, on_events);  // deletes itself when done
    AddonState::of(env).pending_loads.insert(worker->pending_load_);
    Started started{worker->deferred_.Promise(), worker->pending_load_};
    worker->Queue();
    return started;
}

OpenWorker::OpenWorker(Napi::Env env, OpenRequest request, Napi::Function on_progress, Napi::Function on_events)
    : AsyncProgressWorker<float>(env),
      request_(std::move(request)),
      on_events_(Napi::Persistent(on_events)),
      deferred_(env) {
    if (!on_progress.IsEmpty()) on_progress_ = Napi::Persistent(on_progress);
}

void OpenWorker::Execute(const ExecutionProgress& progress) {
    try {
        load_backends(request_.modules, request_.verbose);
        use_numa(request_.options.numa);
        const auto report = [&](float fraction) {
            progress.Send(&fraction, 1);
            return !pending_load_->aborted;
        };
        const ThrownAssertions guard;
        engine_ = std::make_shared<Engine>(request_.path, request_.options, report);
        // The load may have been aborted after the last progress call.
        if (pending_load_->aborted) {
            engine_.reset();
            throw Error(ErrorCode::engine_closed, "Loading the model was aborted.");
        }
    } catch (...) {
        error_ = CaughtError::current();
        SetError(error_.message);
    }
    pending_load_->mark_ended();
}

void OpenWorker::OnProgress(const float* fraction, size_t count) {
    if (count == 0 || on_progress_.IsEmpty()) return;
    on_progress_.Call({Napi::Number::New(Env(), *fraction)});
}

void OpenWorker::OnOK() {
    AddonState::of(Env()).pending_loads.erase(pending_load_);
    deferred_.Resolve(EngineWrap::wrap(Env(), std::move(engine_), on_events_.Value(), request_.preparation));
}

void OpenWorker::OnError(const Napi::Error&) {
    AddonState::of(Env()).pending_loads.erase(pending_load_);
    deferred_.Reject(to_js_error(Env(), error_).Value());
}

}  // namespace chasqui
