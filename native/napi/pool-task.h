// Thread: start() on JS, the work on a thread of the PreparePool.
#pragma once

#include "../core/prepare-pool.h"
#include "../llama/chat/preparer.h"
#include "error.h"

#include <napi.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace chasqui {

// The preparer of one model, its threads, and its timeout as text for messages.
struct Preparation {
    Preparation(std::shared_ptr<Preparer> preparer, const PreparePool::Options& options);

    std::shared_ptr<Preparer> preparer;  // nullptr once its engine is closed
    const std::string         timeout;   // "10 s"
    PreparePool               pool;      // last: tasks may still read the timeout while it closes
};

// The owner of a task (see PreparePool), and a description for timeout messages such as "Rendering the conversation".
struct Purpose {
    uint32_t    owner;
    const char* name;
};

// The error of a task that the pool ended.
CaughtError to_error(PreparePool::Ending ending, const Purpose& purpose, const Preparation& preparation);

// Runs `work(subject)` on a thread of the pool and resolves a promise with its result, converted by `to_js`. The
// subject is released when the work ends, not when the promise settles, because shutdown() waits for that on the JS
// thread.
template <typename Result, typename Subject = Preparer>
class PoolTask {
public:
    using Work = std::function<Result(Subject&)>;
    using ToJs = std::function<Napi::Value(Napi::Env, const Result&)>;

    static Napi::Promise start(Napi::Env env, Preparation& preparation, std::shared_ptr<Subject> subject,
                               Purpose purpose, Work work, ToJs to_js) {
        auto* const context  = new Context{Napi::Promise::Deferred(env), std::make_shared<Outcome>(), std::move(to_js)};
        const auto  promise  = context->deferred.Promise();
        const auto  outcome  = context->outcome;
        Function    function = Function::New(env, "chasqui.prepare", 0, 1, context,
                                             [](Napi::Env, void*, Context* each) { delete each; });

        PreparePool::Task task;
        task.owner  = purpose.owner;
        task.work   = [outcome, subject = std::move(subject), work = std::move(work)] { outcome->run(work, *subject); };
        task.on_end = [outcome, function, purpose, &preparation](PreparePool::Ending ending) mutable {
            // Work that continues after its deadline still writes to the outcome, so it is only read if the work is
            // done.
            const bool  is_done = ending == PreparePool::Ending::done;
            auto* const error   = new CaughtError(is_done ? outcome->error : to_error(ending, purpose, preparation));
            if (function.NonBlockingCall(error) == napi_ok) {
                function.Release();
            } else {
                delete error;  // the environment is closing and has released the function
            }
        };
        try {
            if (preparation.pool.submit(std::move(task))) return promise;
        } catch (...) {
            function.Release();
            throw to_js_error(env, CaughtError::current());
        }
        function.Release();
        throw to_js_error(env, {ErrorCode::queue_full, "Too many requests are being prepared. Try again later."});
    }

private:
    struct Outcome {
        Result      result{};
        CaughtError error;  // without a message: no error

        void run(const Work& work, Subject& subject) {
            try {
                result = work(subject);
            } catch (const Interrupted&) {
                throw;
            } catch (...) {
                error = CaughtError::current();
                if (error.message.empty()) error.message = "It failed.";
            }
        }
    };

    struct Context {
        Napi::Promise::Deferred  deferred;
        std::shared_ptr<Outcome> outcome;
        ToJs                     to_js;
    };

    static void settle(Napi::Env env, Napi::Function, Context* context, CaughtError* data) {
        const std::unique_ptr<CaughtError> error(data);
        if (env == nullptr) return;  // the process is exiting
        try {
            if (!error->message.empty()) throw to_js_error(env, *error);
            context->deferred.Resolve(context->to_js(env, context->outcome->result));
        } catch (const Napi::Error& failure) {
            context->deferred.Reject(failure.Value());
        } catch (const std::exception& failure) {
            context->deferred.Reject(Napi::Error::New(env, failure.what()).Value());
        }
    }

    using Function = Napi::TypedThreadSafeFunction<Context, CaughtError, settle>;
};

}  // namespace chasqui
