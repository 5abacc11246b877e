// Thread: JS. The interface between TypeScript and native code; `ts/native/addon.ts` has the types.
#include "llama/system/backends.h"
#include "llama/system/log.h"
#include "llama/system/module-probe.h"
#include "llama/system/system.h"
#include "napi/addon-state.h"
#include "napi/call-values.h"
#include "napi/chat-values.h"
#include "napi/engine-wrap.h"
#include "napi/error.h"
#include "napi/from-js.h"
#include "napi/offload-values.h"
#include "napi/open-worker.h"
#include "napi/preparer-to-js.h"

#include <napi.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#endif
#ifdef __linux__
#include <sys/prctl.h>
#include <csignal>
#endif

namespace chasqui {

namespace {

OpenRequest request_from_js(const Napi::Value& value) {
    const auto  from = value.As<Napi::Object>();
    OpenRequest request;
    request.modules = strings_from_js(from, "modules");
    request.verbose = from.Get("verbose").ToBoolean();
    request.path    = from.Get("path").ToString();
    request.options = engine_options_from_js(from.Get("options"));
    request.preparation.timeout = std::chrono::milliseconds(from.Get("prepareTimeoutMs").ToNumber().Uint32Value());
    return request;
}

// open({ modules, verbose, path, options }, onEvents, onProgress?) → { engine: Promise<Engine>, abort() }
Napi::Value open(const Napi::CallbackInfo& call) {
    const Napi::Env env = call.Env();
    return guarded(env, [&]() -> Napi::Value {
        const auto on_progress = call[2].IsFunction() ? call[2].As<Napi::Function>() : Napi::Function();
        auto started = OpenWorker::start(env, request_from_js(call[0]), on_progress, call[1].As<Napi::Function>());

        Napi::Object result = Napi::Object::New(env);
        result.Set("engine", started.promise);
        result.Set("abort", Napi::Function::New(env, [pending = started.pending_load](const Napi::CallbackInfo&) {
                       pending->aborted = true;
                   }));
        return result;
    });
}

// openPreparer({ path, prepareTimeoutMs, metadata, chatTemplate, stuckExitCode }) → Preparer
Napi::Value open_preparer(const Napi::CallbackInfo& call) {
    const Napi::Env env = call.Env();
    return guarded(env, [&]() -> Napi::Value {
        const auto from = call[0].As<Napi::Object>();
        capture_log(/*verbose=*/false);  // an engine's process logs the same
        const auto vocabulary = std::make_shared<VocabularyPreparer>(
            from.Get("path").ToString(), strings_from_js(from, "metadata"), from.Get("chatTemplate").ToString());

        PreparePool::Options options;
        options.timeout  = std::chrono::milliseconds(from.Get("prepareTimeoutMs").ToNumber().Uint32Value());
        options.on_stuck = [code = from.Get("stuckExitCode").ToNumber().Int32Value()] { std::_Exit(code); };
        auto preparer    = std::shared_ptr<Preparer>(vocabulary, &vocabulary->preparer);
        return preparer_to_js(env, std::make_shared<Preparation>(std::move(preparer), options));
    });
}

// scoreModule(path) → number
Napi::Value score_module_of(const Napi::CallbackInfo& call) {
    return guarded(call.Env(), [&]() -> Napi::Value {
        return Napi::Number::New(call.Env(), score_module(call[0].ToString().Utf8Value()));
    });
}

// tryModule(path, onStep) → [{ name, description, type, memoryFree, memoryTotal }]
Napi::Value probe_module_of(const Napi::CallbackInfo& call) {
    const Napi::Env env = call.Env();
    return guarded(env, [&]() -> Napi::Value {
        const auto on_step = call[1].As<Napi::Function>();
        const auto devices = probe_module(call[0].ToString().Utf8Value(), [&] { on_step.Call({}); });
        return array_to_js(env, devices, [&](const auto& device) {
            Napi::Object each = Napi::Object::New(env);
            each.Set("name", device.name);
            each.Set("description", device.description);
            each.Set("type", device.type);
            each.Set("memoryFree", static_cast<double>(device.memory_free));
            each.Set("memoryTotal", static_cast<double>(device.memory_total));
            return each;
        });
    });
}

// fit(as open, spareBytes) → offload with the layers that fit
Napi::Value fit(const Napi::CallbackInfo& call) {
    return guarded(call.Env(), [&]() -> Napi::Value {
        const OpenRequest request = request_from_js(call[0]);
        load_backends(request.modules, request.verbose);
        const auto spare_bytes = static_cast<size_t>(call[1].As<Napi::Number>().DoubleValue());
        return offload_to_js(call.Env(), fit_to_memory(request.path, request.options, spare_bytes));
    });
}

// measure(as open) → [{ name, total, free, weights, cells, compute, other }]
Napi::Value measure(const Napi::CallbackInfo& call) {
    const Napi::Env env = call.Env();
    return guarded(env, [&]() -> Napi::Value {
        const OpenRequest request = request_from_js(call[0]);
        load_backends(request.modules, request.verbose);
        return array_to_js(env, measure_memory(request.path, request.options), [&](const auto& device) {
            Napi::Object each = Napi::Object::New(env);
            each.Set("name", device.name);
            each.Set("total", static_cast<double>(device.total));
            each.Set("free", static_cast<double>(device.free));
            each.Set("weights", static_cast<double>(device.weights));
            each.Set("cells", static_cast<double>(device.cells));
            each.Set("compute", static_cast<double>(device.compute));
            each.Set("other", static_cast<double>(device.other));
            return each;
        });
    });
}

// shutdown(): frees every engine of this environment. False if background work of any environment cannot be ended: then
// the process must end with quit().
Napi::Value shutdown(const Napi::CallbackInfo& call) {
    AddonState::of(call.Env()).shutdown();
    return Napi::Boolean::New(call.Env(), !AddonState::has_stuck_work);
}

// ownProcess(coreDumps): prepares a process that only runs an engine. On Linux the kernel kills the process when the
// thread that started it ends, in whatever state both are. So that thread must live as long as its process. Without
// `coreDumps` no core file is written: it would contain the users' prompts, and be as large as the model.
void own_process([[maybe_unused]] const Napi::CallbackInfo& call) {
#ifdef __linux__
    // SIGKILL also ends a stopped process. https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
#if defined(__unix__) || defined(__APPLE__)
    const rlimit none{0, 0};
    if (!call[0].ToBoolean()) setrlimit(RLIMIT_CORE, &none);
#endif
}

// quit(code): ends the process at once, without destructors, because other threads may still use the objects.
void quit(const Napi::CallbackInfo& call) { std::_Exit(call[0].ToNumber().Int32Value()); }

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
    enlarge_thread_stacks();
    auto state                = std::make_unique<AddonState>();
    state->engine_constructor = Napi::Persistent(EngineWrap::define(env));
    env.AddCleanupHook([](AddonState* each) { each->shutdown(); }, state.get());
    env.SetInstanceData(state.release());  // deleted by Node after the cleanup hooks

    exports.Set("open", Napi::Function::New(env, open, "open"));
    exports.Set("openPreparer", Napi::Function::New(env, open_preparer, "openPreparer"));
    exports.Set("fit", Napi::Function::New(env, fit, "fit"));
    exports.Set("measure", Napi::Function::New(env, measure, "measure"));
    exports.Set("openParser", Napi::Function::New(env, open_parser, "openParser"));
    exports.Set("scoreModule", Napi::Function::New(env, score_module_of, "scoreModule"));
    exports.Set("tryModule", Napi::Function::New(env, probe_module_of, "tryModule"));
    exports.Set("shutdown", Napi::Function::New(env, shutdown, "shutdown"));
    exports.Set("ownProcess", Napi::Function::New(env, own_process, "ownProcess"));
    exports.Set("quit", Napi::Function::New(env, quit, "quit"));
    return exports;
}

}  // namespace

}  // namespace chasqui

Napi::Object initialise_addon(Napi::Env env, Napi::Object exports) { return chasqui::initialise(env, exports); }

NODE_API_MODULE(chasqui, initialise_addon)
