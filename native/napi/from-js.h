// Thread: JS.
#pragma once

#include "../core/job.h"
#include "../engine.h"

#include <napi.h>

#include <string>
#include <vector>

namespace chasqui {

// Converts JavaScript values to plain structs. A value of the wrong type throws a TypeError that names the field.
Job           job_from_js(const Napi::Value& value);
std::vector<std::string> strings_from_js(const Napi::Object& from, const char* name);
EngineOptions engine_options_from_js(const Napi::Value& value);

}  // namespace chasqui
