// Thread: JS.
#pragma once

#include "pool-task.h"

#include <napi.h>

#include <memory>

namespace chasqui {

// The JavaScript object that prepares requests; its type is in `ts/native/addon.ts`. Every engine has one, and
// openPreparer() creates one for a vocabulary without an engine.
Napi::Object preparer_to_js(Napi::Env env, const std::shared_ptr<Preparation>& preparation);

}  // namespace chasqui
