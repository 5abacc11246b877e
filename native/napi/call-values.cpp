#include "call-values.h"

#include <algorithm>
#include <utility>

namespace chasqui {

std::string string_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsString()) throw Napi::TypeError::New(call.Env(), std::string(name) + " must be a string.");
    return call[index].As<Napi::String>().Utf8Value();
}

std::vector<std::string> texts_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsArray()) throw Napi::TypeError::New(call.Env(), std::string(name) + " must be an array.");
    const auto               array = call[index].As<Napi::Array>();
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < array.Length(); ++i) texts.push_back(array.Get(i).ToString());
    return texts;
}

uint32_t number_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsNumber()) throw Napi::TypeError::New(call.Env(), std::string(name) + " must be a number.");
    return call[index].As<Napi::Number>().Uint32Value();
}

std::vector<TokenId> tokens_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsTypedArray() || call[index].As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
        throw Napi::TypeError::New(call.Env(), std::string(name) + " must be an Int32Array.");
    }
    const auto array = call[index].As<Napi::Int32Array>();
    return {array.Data(), array.Data() + array.ElementLength()};
}

Napi::Value tokens_to_js(Napi::Env env, const std::vector<TokenId>& tokens) {
    Napi::Int32Array result = Napi::Int32Array::New(env, tokens.size());
    std::copy(tokens.begin(), tokens.end(), result.Data());
    return result;
}

Napi::Value constraints_to_js(Napi::Env env, const std::vector<Constraint>& constraints) {
    Napi::Array result = Napi::Array::New(env, constraints.size());
    for (uint32_t i = 0; i < constraints.size(); ++i) {
        result.Set(i, Napi::External<Constraint>::New(env, new Constraint(constraints[i]),
                                                      [](Napi::Env, Constraint* held) { delete held; }));
    }
    return result;
}

Constraint take_constraint(const Napi::Value& value) {
    if (value.IsUndefined() || value.IsNull()) return nullptr;
    if (!value.IsExternal()) throw Napi::TypeError::New(value.Env(), "constraint must come from compileGrammar.");
    Constraint taken = std::move(*value.As<Napi::External<Constraint>>().Data());
    if (!taken) throw Napi::TypeError::New(value.Env(), "constraint was submitted before.");
    return taken;
}

}  // namespace chasqui
