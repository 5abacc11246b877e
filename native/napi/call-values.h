// Thread: JS.
#pragma once

#include "../core/job.h"
#include "../core/token-constraint.h"

#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

using Constraint = std::shared_ptr<TokenConstraint>;

// The arguments of a call. One of the wrong type throws a TypeError with its name.
std::string              string_argument(const Napi::CallbackInfo& call, size_t index, const char* name);
std::vector<std::string> texts_argument(const Napi::CallbackInfo& call, size_t index, const char* name);
uint32_t                 number_argument(const Napi::CallbackInfo& call, size_t index, const char* name);
std::vector<uint8_t>     bytes_argument(const Napi::CallbackInfo& call, size_t index, const char* name);
std::vector<TokenId>     tokens_argument(const Napi::CallbackInfo& call, size_t index, const char* name);

Napi::Value tokens_to_js(Napi::Env env, const std::vector<TokenId>& tokens);

// Constraints as opaque values. A constraint follows one text, so it can be taken out of its value only once; null
// becomes nullptr.
Napi::Value constraints_to_js(Napi::Env env, const std::vector<Constraint>& constraints);
Constraint  take_constraint(const Napi::Value& value);

}  // namespace chasqui
