#include "call-values.h"

#include "chat-values.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

[[noreturn]] void reject(const Napi::CallbackInfo& call, const char* name, const char* type) {
    throw Napi::TypeError::New(call.Env(), std::string(name) + " must be " + type + ".");
}

template <typename Array>
Array typed_array(const Napi::CallbackInfo& call, size_t index, napi_typedarray_type type, const char* name,
                  const char* type_name) {
    if (!call[index].IsTypedArray() || call[index].As<Napi::TypedArray>().TypedArrayType() != type) {
        reject(call, name, type_name);
    }
    return call[index].As<Array>();
}

}  // namespace

void read_argument(const Napi::CallbackInfo& call, size_t index, const char*, bool& into) {
    into = call[index].ToBoolean();
}

void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, uint32_t& into) {
    if (!call[index].IsNumber()) reject(call, name, "a number");
    into = call[index].As<Napi::Number>().Uint32Value();
}

void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::string& into) {
    if (!call[index].IsString()) reject(call, name, "a string");
    into = call[index].As<Napi::String>().Utf8Value();
}

void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::vector<std::string>& into) {
    if (!call[index].IsArray()) reject(call, name, "an array");
    const auto array = call[index].As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); ++i) into.push_back(array.Get(i).ToString());
}

void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::vector<uint8_t>& into) {
    const auto array = typed_array<Napi::Uint8Array>(call, index, napi_uint8_array, name, "a Uint8Array");
    into.assign(array.Data(), array.Data() + array.ElementLength());
}

void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::vector<TokenId>& into) {
    const auto array = typed_array<Napi::Int32Array>(call, index, napi_int32_array, name, "an Int32Array");
    into.assign(array.Data(), array.Data() + array.ElementLength());
}

void read_argument(const Napi::CallbackInfo& call, size_t index, const char*, GrammarSettings& into) {
    into = grammar_from_js(call[index]);
}

Napi::Value tokens_to_js(Napi::Env env, const std::vector<TokenId>& tokens) {
    Napi::Int32Array result = Napi::Int32Array::New(env, tokens.size());
    std::copy(tokens.begin(), tokens.end(), result.Data());
    return result;
}

Napi::Value strings_to_js(Napi::Env env, const std::vector<std::string>& strings) {
    return array_to_js(env, strings, [](const std::string& each) { return each; });
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
    const auto collected = [](Napi::Env from, ExternalConstraint* held) {
        held->take(from);
        delete held;
    };
    return array_to_js(env, constraints, [&](const Constraint& each) {
        return Napi::External<ExternalConstraint>::New(env, new ExternalConstraint(env, each), collected);
    });
}

Constraint take_constraint(const Napi::Value& value) {
    if (value.IsUndefined() || value.IsNull()) return nullptr;
    if (!value.IsExternal()) throw Napi::TypeError::New(value.Env(), "constraint must come from compileGrammar.");
    Constraint taken = value.As<Napi::External<ExternalConstraint>>().Data()->take(value.Env());
    if (!taken) throw Napi::TypeError::New(value.Env(), "constraint was submitted before.");
    return taken;
}

}  // namespace chasqui
