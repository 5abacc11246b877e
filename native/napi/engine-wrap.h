// Thread: JS.
#pragma once

#include "event-pump.h"
#include "pool-task.h"

#include "../engine.h"

#include <napi.h>

#include <memory>

namespace chasqui {

struct AddonState;

// The JavaScript object of an engine; its type is in `ts/native/addon.ts`. Created by open(), never by `new`.
class EngineWrap : public Napi::ObjectWrap<EngineWrap> {
public:
    static Napi::Function define(Napi::Env env);
    // Takes ownership of a new engine.
    static Napi::Object wrap(Napi::Env env, std::shared_ptr<Engine> engine, Napi::Function on_events,
                             const PreparePool::Options& preparation);

    explicit EngineWrap(const Napi::CallbackInfo& info);
    ~EngineWrap() override;

    // Ends the engine thread and frees the model. Blocks.
    void shutdown();

private:
    Napi::Value info(const Napi::CallbackInfo& call);
    Napi::Value tokenize_prompt(const Napi::CallbackInfo& call);
    Napi::Value embed(const Napi::CallbackInfo& call);
    void        cancel_embed(const Napi::CallbackInfo& call);
    void        submit(const Napi::CallbackInfo& call);
    void        finish(const Napi::CallbackInfo& call);
    void        end_reasoning(const Napi::CallbackInfo& call);
    void        pause(const Napi::CallbackInfo& call);
    void        cancel(const Napi::CallbackInfo& call);
    Napi::Value stats(const Napi::CallbackInfo& call);
    Napi::Value close(const Napi::CallbackInfo& call);

    // Throws `engine_closed` after close().
    const std::shared_ptr<Engine>& engine(Napi::Env env) const;
    void                           release();

    AddonState*                  state_;
    std::shared_ptr<Engine>      engine_;  // empty once closed
    std::shared_ptr<Preparation> preparation_;
    std::unique_ptr<EventPump>   pump_;
};

}  // namespace chasqui
