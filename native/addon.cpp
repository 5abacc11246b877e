// Thread: JS. The whole surface between TypeScript and native code; `ts/native/addon.ts` has the types.
#include "napi/addon-state.h"
#include "napi/chat-values.h"
#include "napi/engine-wrap.h"
#include "napi/error.h"
#include "napi/from-js.h"
#include "napi/open-worker.h"

#include <napi.h>

#include <memory>
#include <utility>

namespace chasqui {

namespace {

// open({ backendDirectory, verbose, path, options }, onEvents, onProgress?) → { engine: Promise<Engine>, abort() }
Napi::Value open(const Napi::CallbackInfo& call) {
    const Napi::Env env = call.Env();
    return guarded(env, [&]() -> Napi::Value {
        const auto  from = call[0].As<Napi::Object>();
        OpenRequest request;
        request.backend_directory = from.Get("backendDirectory").ToString();
        request.verbose           = from.Get("verbose").ToBoolean();
        request.path              = from.Get("path").ToString();
        request.options           = engine_options_from_js(from.Get("options"));
        const auto on_progress    = call[2].IsFunction() ? call[2].As<Napi::Function>() : Napi::Function();
        auto started = OpenWorker::start(env, std::move(request), on_progress, call[1].As<Napi::Function>());

        Napi::Object result = Napi::Object::New(env);
        result.Set("engine", started.promise);
        result.Set("abort", Napi::Function::New(env, [opening = started.opening](const Napi::CallbackInfo&) {
                       opening->aborted = true;
                   }));
        return result;
    });
}

// shutdown(): frees every engine of this environment, now.
void shutdown(const Napi::CallbackInfo& call) { AddonState::of(call.Env()).shutdown(); }

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
    auto state                = std::make_unique<AddonState>();
    state->engine_constructor = Napi::Persistent(EngineWrap::define(env));
    env.AddCleanupHook([](AddonState* each) { each->shutdown(); }, state.get());
    env.SetInstanceData(state.release());  // Node deletes it after the cleanup hooks have run

    exports.Set("open", Napi::Function::New(env, open, "open"));
    exports.Set("openParser", Napi::Function::New(env, open_parser, "openParser"));
    exports.Set("shutdown", Napi::Function::New(env, shutdown, "shutdown"));
    return exports;
}

}  // namespace

}  // namespace chasqui

Napi::Object initialise_addon(Napi::Env env, Napi::Object exports) { return chasqui::initialise(env, exports); }

NODE_API_MODULE(chasqui, initialise_addon)
