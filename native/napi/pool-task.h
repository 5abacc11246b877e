// Thread: start() on JS, the work on Node's thread pool.
#pragma once

#include "../engine.h"
#include "error.h"

#include <napi.h>

#include <functional>
#include <memory>
#include <utility>

namespace chasqui {

// Runs `work(engine)` off the JS thread and resolves a promise with what `to_js` makes of its result. The engine is let
// go of as the work ends, not when JavaScript hears of it: shutdown waits for that, on the JS thread.
template <typename Result>
class PoolTask : public Napi::AsyncWorker {
public:
    using Work = std::function<Result(Engine&)>;
    using ToJs = std::function<Napi::Value(Napi::Env, const Result&)>;

    static Napi::Promise start(Napi::Env env, std::shared_ptr<Engine> engine, Work work, ToJs to_js) {
        auto* task    = new PoolTask(env, std::move(engine), std::move(work), std::move(to_js));  // deletes itself
        auto  promise = task->deferred_.Promise();
        task->Queue();
        return promise;
    }

private:
    PoolTask(Napi::Env env, std::shared_ptr<Engine> engine, Work work, ToJs to_js)
        : AsyncWorker(env),
          engine_(std::move(engine)),
          work_(std::move(work)),
          to_js_(std::move(to_js)),
          deferred_(env) {}

    void Execute() override {
        try {
            result_ = work_(*engine_);
        } catch (...) {
            error_ = CaughtError::current();
            SetError(error_.message);
        }
        engine_.reset();
    }

    void OnOK() override { deferred_.Resolve(to_js_(Env(), result_)); }
    void OnError(const Napi::Error&) override { deferred_.Reject(to_js_error(Env(), error_).Value()); }

    std::shared_ptr<Engine> engine_;
    Work                    work_;
    ToJs                    to_js_;
    Result                  result_{};
    CaughtError             error_;
    Napi::Promise::Deferred deferred_;
};

}  // namespace chasqui
