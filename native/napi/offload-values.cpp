#include "offload-values.h"

#include "call-values.h"
#include "from-js.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

using Split = OffloadOptions::Split;

constexpr std::pair<Split, const char*> kSplits[] = {
    {Split::none, "none"}, {Split::layer, "layer"}, {Split::row, "row"}};

[[noreturn]] void reject(Napi::Env env, const char* name, const char* what) {
    throw Napi::TypeError::New(env, std::string("offload.") + name + " must be " + what + ".");
}

Napi::Array array_field(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (!value.IsArray()) reject(from.Env(), name, "an array");
    return value.As<Napi::Array>();
}

// `null`: not chosen by the user.
std::optional<int32_t> count_or_null(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (value.IsNull()) return std::nullopt;
    const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
    if (!(number >= 0 && number <= INT32_MAX) || number != std::floor(number)) {
        reject(from.Env(), name, "null or a whole number in range");
    }
    return static_cast<int32_t>(number);
}

Split split_from_js(const Napi::Object& from) {
    const std::string name = from.Get("splitMode").ToString();
    for (const auto& [split, its_name] : kSplits) {
        if (name == its_name) return split;
    }
    reject(from.Env(), "splitMode", "a known one");
}

Napi::Value count_to_js(Napi::Env env, const std::optional<int32_t>& count) {
    return count ? Napi::Value(Napi::Number::New(env, *count)) : env.Null();
}

}  // namespace

OffloadOptions offload_from_js(const Napi::Value& value) {
    if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), "offload must be an object.");
    const auto     from = value.As<Napi::Object>();
    OffloadOptions offload;
    if (!from.Get("devices").IsNull()) offload.devices = strings_from_js(from, "devices");
    offload.gpu_layers = count_or_null(from, "gpuLayers");
    if (!from.Get("draftDevices").IsNull()) offload.draft_devices = strings_from_js(from, "draftDevices");
    offload.draft_gpu_layers = count_or_null(from, "draftGpuLayers");
    offload.split      = split_from_js(from);
    offload.main_gpu   = count_or_null(from, "mainGpu");
    const Napi::Array shares = array_field(from, "tensorSplit");
    for (uint32_t at = 0; at < shares.Length(); ++at) {
        const Napi::Value share = shares.Get(at);
        if (!share.IsNumber()) reject(from.Env(), "tensorSplit", "an array of numbers");
        offload.tensor_split.push_back(share.As<Napi::Number>().FloatValue());
    }
    const Napi::Array overrides = array_field(from, "overrides");
    for (uint32_t at = 0; at < overrides.Length(); ++at) {
        const auto each = overrides.Get(at).As<Napi::Object>();
        offload.overrides.push_back({each.Get("tensors").ToString(), each.Get("device").ToString()});
    }
    return offload;
}

Napi::Value offload_to_js(Napi::Env env, const OffloadOptions& offload) {
    Napi::Object result = Napi::Object::New(env);
    const auto set_devices = [&](const char* name, const std::optional<std::vector<std::string>>& devices) {
        result.Set(name, devices ? strings_to_js(env, *devices) : env.Null());
    };
    set_devices("devices", offload.devices);
    set_devices("draftDevices", offload.draft_devices);
    result.Set("gpuLayers", count_to_js(env, offload.gpu_layers));
    result.Set("draftGpuLayers", count_to_js(env, offload.draft_gpu_layers));
    for (const auto& [split, name] : kSplits) {
        if (split == offload.split) result.Set("splitMode", name);
    }
    result.Set("mainGpu", count_to_js(env, offload.main_gpu));
    result.Set("tensorSplit", array_to_js(env, offload.tensor_split, [](float share) { return share; }));
    result.Set("overrides", array_to_js(env, offload.overrides, [&](const auto& chosen) {
                   Napi::Object each = Napi::Object::New(env);
                   each.Set("tensors", chosen.tensors);
                   each.Set("device", chosen.device);
                   return each;
               }));
    return result;
}

Napi::Value offload_report_to_js(Napi::Env env, const Model& model) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("devices", strings_to_js(env, model.offload().device_names()));
    result.Set("gpuLayers", model.offloaded_layers());
    result.Set("layers", model.layer_count());
    return result;
}

}  // namespace chasqui
