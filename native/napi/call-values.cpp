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

std::vector<uint8_t> bytes_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsTypedArray() || call[index].As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
        throw Napi::TypeError::New(call.Env(), std::string(name) + " must be a Uint8Array.");
    }
    const auto array = call[index].As<Napi::Uint8Array>();
    return {array.Data(), array.Data() + array.ElementLength()};
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

// V8 must know the memory that JavaScript references through a constraint, which may be megabytes, to free values in
// time. When a job takes the constraint, the memory is the engine's.
class ExternalConstraint {
public:
    ExternalConstraint(Napi::Env env, Constraint constraint)
        : constraint_(std::move(constraint)), n_bytes_(static_cast<int64_t>(constraint_->size_bytes())) {
        Napi::MemoryManagement::AdjustExternalMemory(env, n_bytes_);
    }

    Constraint take(Napi::Env env) {
        Napi::MemoryManagement::AdjustExternalMemory(env, -std::exchange(n_bytes_, 0));
        return std::move(constraint_);
    }

private:
    Constraint constraint_;
    int64_t    n_bytes_;
};

Napi::Value constraints_to_js(Napi::Env env, const std::vector<Constraint>& constraints) {
    Napi::Array result = Napi::Array::New(env, constraints.size());
    for (uint32_t i = 0; i < constraints.size(); ++i) {
        const auto collected = [](Napi::Env from, ExternalConstraint* held) {
            held->take(from);
            delete held;
        };
        result.Set(
            i, Napi::External<ExternalConstraint>::New(env, new ExternalConstraint(env, constraints[i]), collected));
    }
    return result;
}

Constraint take_constraint(const Napi::Value& value) {
    if (value.IsUndefined() || value.IsNull()) return nullptr;
    if (!value.IsExternal()) throw Napi::TypeError::New(value.Env(), "constraint must come from compileGrammar.");
    Constraint taken = value.As<Napi::External<ExternalConstraint>>().Data()->take(value.Env());
    if (!taken) throw Napi::TypeError::New(value.Env(), "constraint was submitted before.");
    return taken;
}

}  // namespace chasqui
