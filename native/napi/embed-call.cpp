#include "embed-call.h"

#include "error.h"
#include "images-from-js.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

struct EmbedResult {
    std::vector<float>     embeddings;  // concatenated
    std::optional<Failure> failure;
};

void settle(Napi::Env env, Napi::Function, Napi::Promise::Deferred* deferred, EmbedResult* data) {
    const std::unique_ptr<EmbedResult> result(data);
    if (env == nullptr) return;  // the process is exiting
    if (result->failure) {
        deferred->Reject(to_js_error(env, {result->failure->code, result->failure->message, result->failure->image}).Value());
        return;
    }
    Napi::Float32Array embeddings = Napi::Float32Array::New(env, result->embeddings.size());
    std::copy(result->embeddings.begin(), result->embeddings.end(), embeddings.Data());
    deferred->Resolve(embeddings);
}

using Function = Napi::TypedThreadSafeFunction<Napi::Promise::Deferred, EmbedResult, settle>;

// Releases the function when the request ends or is dropped. Until then it keeps the process alive.
class Settler {
public:
    explicit Settler(Function function) : function_(function) {}
    ~Settler() { function_.Release(); }
    Settler(const Settler&)            = delete;
    Settler& operator=(const Settler&) = delete;

    void call(std::unique_ptr<EmbedResult> result) {
        if (function_.NonBlockingCall(result.get()) == napi_ok) result.release();
    }

private:
    Function function_;
};

std::vector<std::vector<TokenId>> inputs_from_js(const Napi::CallbackInfo& call) {
    const auto is_int32 = [](const Napi::Value& value) {
        return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_int32_array;
    };
    if (!is_int32(call[1]) || !is_int32(call[2])) {
        throw Napi::TypeError::New(call.Env(), "tokens and lengths must be Int32Arrays.");
    }
    const auto                        tokens = call[1].As<Napi::Int32Array>(), lengths = call[2].As<Napi::Int32Array>();
    std::vector<std::vector<TokenId>> inputs;
    size_t                            at = 0;
    for (size_t i = 0; i < lengths.ElementLength(); ++i) {
        const auto length = static_cast<size_t>(lengths.Data()[i]);
        if (lengths.Data()[i] < 0 || length > tokens.ElementLength() - at) {
            throw Napi::TypeError::New(call.Env(), "lengths must add up to the number of tokens.");
        }
        inputs.emplace_back(tokens.Data() + at, tokens.Data() + at + length);
        at += length;
    }
    return inputs;
}

}  // namespace

Napi::Promise embed_call(const Napi::CallbackInfo& call, Engine& engine) {
    const Napi::Env env     = call.Env();
    auto            request = std::make_shared<EmbedRequest>();
    request->id             = call[0].ToNumber().Uint32Value();
    request->inputs         = inputs_from_js(call);
    request->media          = media_from_js(call[3]);
    if (request->media && request->inputs.size() != 1) {
        throw Napi::TypeError::New(env, "An input with images must be the only one.");
    }

    auto*               deferred = new Napi::Promise::Deferred(env);
    const Napi::Promise promise  = deferred->Promise();
    const auto          settler  = std::make_shared<Settler>(Function::New(
                  env, "chasqui.embed", 0, 1, deferred, [](Napi::Env, void*, Napi::Promise::Deferred* each) { delete each; }));
    request->on_done = [settler](const EmbedRequest::Embeddings& embeddings, const std::optional<Failure>& failure) {
        auto result = std::make_unique<EmbedResult>();
        if (failure) {
            result->failure = failure;
        } else {
            for (const auto& each : embeddings) {
                result->embeddings.insert(result->embeddings.end(), each.begin(), each.end());
            }
        }
        settler->call(std::move(result));
    };
    guarded(env, [&] { engine.embed(std::move(request)); });
    return promise;
}

}  // namespace chasqui
