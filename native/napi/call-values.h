// Thread: JS.
#pragma once

#include "../core/job.h"
#include "../core/token-constraint.h"
#include "../llama/sampling/grammar.h"

#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

using Constraint = std::shared_ptr<TokenConstraint>;

// Reads an argument of a call. One of the wrong type throws a TypeError with its name.
void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, bool& into);
void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, uint32_t& into);
void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::string& into);
void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::vector<std::string>& into);
void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::vector<uint8_t>& into);
void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, std::vector<TokenId>& into);
void read_argument(const Napi::CallbackInfo& call, size_t index, const char* name, GrammarSettings& into);

template <typename Value>
Value argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    Value value;
    read_argument(call, index, name, value);
    return value;
}

template <typename Values, typename ToJs>
Napi::Array array_to_js(Napi::Env env, const Values& values, const ToJs& to_js) {
    Napi::Array result = Napi::Array::New(env, values.size());
    for (uint32_t i = 0; i < values.size(); ++i) result.Set(i, to_js(values[i]));
    return result;
}

Napi::Value tokens_to_js(Napi::Env env, const std::vector<TokenId>& tokens);
Napi::Value strings_to_js(Napi::Env env, const std::vector<std::string>& strings);

// Constraints as opaque values. A constraint follows one text, so it can be taken out of its value only once; null
// becomes nullptr.
Napi::Value constraints_to_js(Napi::Env env, const std::vector<Constraint>& constraints);
Constraint  take_constraint(const Napi::Value& value);

}  // namespace chasqui
