// Thread: JS.
#pragma once

#include "../core/job.h"
#include "../engine.h"

#include <napi.h>

namespace chasqui {

// JavaScript values to plain structs. A value of the wrong type throws a TypeError that names the field.
Job           job_from_js(const Napi::Value& value);
EngineOptions engine_options_from_js(const Napi::Value& value);

}  // namespace chasqui
