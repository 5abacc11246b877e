// Thread: JS.
#pragma once

#include "pool-task.h"

#include <napi.h>

#include <memory>

namespace chasqui {

// The JavaScript object that prepares requests; its type is in `ts/native/addon.ts`. Every engine has one, and
// openPreparer() creates one for a vocabulary without an engine. Never created by `new`.
class PreparerWrap : public Napi::ObjectWrap<PreparerWrap> {
public:
    static Napi::Function define(Napi::Env env);
    static Napi::Object   wrap(Napi::Env env, std::shared_ptr<Preparation> preparation);

    explicit PreparerWrap(const Napi::CallbackInfo& info) : ObjectWrap<PreparerWrap>(info) {}

private:
    Napi::Value render(const Napi::CallbackInfo& call);
    Napi::Value tokenize(const Napi::CallbackInfo& call);
    Napi::Value tokenize_text_prompt(const Napi::CallbackInfo& call);
    Napi::Value tokenize_infill(const Napi::CallbackInfo& call);
    Napi::Value unenforced_parts(const Napi::CallbackInfo& call);
    Napi::Value tokenize_inputs(const Napi::CallbackInfo& call);
    Napi::Value tokenize_pairs(const Napi::CallbackInfo& call);
    Napi::Value pieces(const Napi::CallbackInfo& call);
    Napi::Value decode_audio(const Napi::CallbackInfo& call);
    Napi::Value compile_grammar(const Napi::CallbackInfo& call);
    void        cancel_preparation(const Napi::CallbackInfo& call);

    template <typename Result>
    Napi::Value prepare(Napi::Env env, Purpose purpose, typename PoolTask<Result>::Work work,
                        typename PoolTask<Result>::ToJs to_js);

    std::shared_ptr<Preparation> preparation_;
};

}  // namespace chasqui
