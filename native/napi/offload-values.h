// Thread: JS.
#pragma once

#include "../llama/model/model.h"

#include <napi.h>

namespace chasqui {

// Conversions of OffloadOptions, and the report of a model's devices; the JavaScript types are in `ts/native/addon.ts`.
// A value of the wrong type throws a TypeError with the field's name.
OffloadOptions offload_from_js(const Napi::Value& value);
Napi::Value    offload_to_js(Napi::Env env, const OffloadOptions& offload);
Napi::Value    offload_report_to_js(Napi::Env env, const Model& model);

}  // namespace chasqui
