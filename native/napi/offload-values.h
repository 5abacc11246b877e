// Thread: JS.
#pragma once

#include "../llama/model.h"

#include <napi.h>

namespace chasqui {

// NativeOffload and NativePlacement as `ts/native/addon.ts` declares them. What comes from JavaScript throws a TypeError
// that names the field at fault.
OffloadOptions offload_from_js(const Napi::Value& value);
Napi::Value    offload_to_js(Napi::Env env, const OffloadOptions& offload);
Napi::Value    placement_to_js(Napi::Env env, const Model& model);

}  // namespace chasqui
