#include "from-js.h"

#include "images-from-js.h"
#include "offload-values.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>

namespace chasqui {

namespace {

Napi::Object as_object(const Napi::Value& value, const char* name) {
    if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), std::string(name) + " must be an object.");
    return value.As<Napi::Object>();
}

double number_field(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (!value.IsNumber()) throw Napi::TypeError::New(from.Env(), std::string(name) + " must be a number.");
    return value.As<Napi::Number>().DoubleValue();
}

float float_field(const Napi::Object& from, const char* name) {
    const double value = number_field(from, name);
    if (!std::isfinite(value)) throw Napi::TypeError::New(from.Env(), std::string(name) + " must be finite.");
    return static_cast<float>(value);
}

template <typename Integer>
Integer integer_field(const Napi::Object& from, const char* name) {
    const double value = number_field(from, name);
    if (value != std::floor(value) || value < static_cast<double>(std::numeric_limits<Integer>::min()) ||
        value > static_cast<double>(std::numeric_limits<Integer>::max())) {
        throw Napi::TypeError::New(from.Env(), std::string(name) + " must be a whole number in range.");
    }
    return static_cast<Integer>(value);
}

std::vector<TokenId> tokens_field(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
        throw Napi::TypeError::New(from.Env(), std::string(name) + " must be an Int32Array.");
    }
    const auto array = value.As<Napi::Int32Array>();
    return std::vector<TokenId>(array.Data(), array.Data() + array.ElementLength());
}

// Two arrays of the same length: tokens, and their biases.
std::vector<LogitBias> logit_bias_from_js(const Napi::Object& from) {
    const std::vector<TokenId> tokens = tokens_field(from, "logitBiasTokens");
    const Napi::Value          biases = from.Get("logitBiasValues");
    if (!biases.IsTypedArray() || biases.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array ||
        biases.As<Napi::TypedArray>().ElementLength() != tokens.size()) {
        throw Napi::TypeError::New(from.Env(), "logitBiasValues must be a Float32Array, one for each token.");
    }
    std::vector<LogitBias> result;
    for (size_t i = 0; i < tokens.size(); ++i) result.push_back({tokens[i], biases.As<Napi::Float32Array>()[i]});
    return result;
}

std::string string_field(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (!value.IsString()) throw Napi::TypeError::New(from.Env(), std::string(name) + " must be a string.");
    return value.As<Napi::String>().Utf8Value();
}

template <typename T>
void read_field(const Napi::Object& from, const char* name, T& into) {
    if constexpr (std::is_same_v<T, bool>) {
        into = from.Get(name).ToBoolean();
    } else if constexpr (std::is_same_v<T, float>) {
        into = float_field(from, name);
    } else if constexpr (std::is_same_v<T, double>) {
        into = number_field(from, name);
    } else if constexpr (std::is_integral_v<T>) {
        into = integer_field<T>(from, name);
    } else if constexpr (std::is_same_v<T, std::string>) {
        into = string_field(from, name);
    } else {
        into = strings_from_js(from, name);
    }
}

// Reads load options into the `read` functions of the option structs. An absent option keeps the member's default.
class OptionReader {
public:
    explicit OptionReader(const Napi::Object& from) : from_(from) {}

    template <typename T>
    void operator()(const char* name, T& into) const {
        if (!from_.Get(name).IsUndefined()) read_field(from_, name, into);
    }
    template <typename T>
    void mebibytes(const char* name, T& bytes) const {
        if (!from_.Get(name).IsUndefined()) bytes = static_cast<T>(number_field(from_, name) * 0x100000);
    }

private:
    const Napi::Object& from_;
};

std::vector<SamplerKind> samplers_from_js(const Napi::Object& from) {
    static const std::map<std::string, SamplerKind> kinds = {
#define CHASQUI_SAMPLER(kind) {#kind, SamplerKind::kind},
        CHASQUI_SAMPLERS(CHASQUI_SAMPLER)
#undef CHASQUI_SAMPLER
    };
    std::vector<SamplerKind> samplers;
    for (const std::string& name : strings_from_js(from, "samplers")) {
        const auto found = kinds.find(name);
        if (found == kinds.end()) throw Napi::TypeError::New(from.Env(), "samplers must be known ones.");
        samplers.push_back(found->second);
    }
    return samplers;
}

SamplingSettings sampling_from_js(const Napi::Object& from) {
    SamplingSettings sampling;
#define CHASQUI_NUMBER(type, field, name, neutral) read_field(from, name, sampling.field);
    CHASQUI_SAMPLING_NUMBERS(CHASQUI_NUMBER)
#undef CHASQUI_NUMBER
    if (sampling.dry_allowed_length < 0) {
        throw Napi::TypeError::New(from.Env(), "dryAllowedLength must not be negative.");
    }
    sampling.dry_breaker_texts = strings_from_js(from, "drySequenceBreakers");
    sampling.samplers          = samplers_from_js(from);
    sampling.seed              = integer_field<uint32_t>(from, "seed");
    sampling.logit_bias        = logit_bias_from_js(from);
    sampling.logprobs_after    = from.Get("logprobsAfter").ToBoolean();
    return sampling;
}

// Two arrays of the same length: ascending indices, and scales.
AdapterSet adapters_from_js(const Napi::Object& from) {
    const std::vector<TokenId> indices = tokens_field(from, "adapters");
    const Napi::Value          scales  = from.Get("adapterScales");
    if (!scales.IsTypedArray() || scales.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array ||
        scales.As<Napi::TypedArray>().ElementLength() != indices.size()) {
        throw Napi::TypeError::New(from.Env(), "adapterScales must be a Float32Array, one for each adapter.");
    }
    AdapterSet adapters;
    for (size_t i = 0; i < indices.size(); ++i) {
        const float scale = scales.As<Napi::Float32Array>()[i];
        if (indices[i] < (i == 0 ? 0 : indices[i - 1] + 1)) {
            throw Napi::TypeError::New(from.Env(), "adapters must be indices in ascending order.");
        }
        if (!std::isfinite(scale)) throw Napi::TypeError::New(from.Env(), "adapterScales must be finite.");
        if (scale != 0) adapters.push_back({static_cast<size_t>(indices[i]), scale});
    }
    return adapters;
}

std::optional<ReasoningLimit> reasoning_from_js(const Napi::Value& value) {
    if (value.IsNull()) return std::nullopt;
    const Napi::Object from = as_object(value, "reasoning");
    ReasoningLimit     limit;
    limit.pairs = {{string_field(from, "start"), strings_from_js(from, "ends")}};
    if (from.Get("isDetected").ToBoolean()) limit.pairs = usual_reasoning_pairs();
    limit.prompt_end = string_field(from, "promptEnd");
    limit.max_tokens = integer_field<uint32_t>(from, "maxTokens");
    limit.message    = tokens_field(from, "message");
    const ReasoningPair& first = limit.pairs.front();
    if (first.start.empty() || first.ends.empty()) throw Napi::TypeError::New(from.Env(), "reasoning must have tags.");
    return limit;
}

}  // namespace

std::vector<std::string> strings_from_js(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (!value.IsArray()) throw Napi::TypeError::New(from.Env(), std::string(name) + " must be an array.");
    const auto               array = value.As<Napi::Array>();
    std::vector<std::string> strings;
    for (uint32_t i = 0; i < array.Length(); ++i) {
        const Napi::Value each = array.Get(i);
        if (!each.IsString() || each.As<Napi::String>().Utf8Value().empty()) {
            throw Napi::TypeError::New(from.Env(), std::string(name) + " must hold non-empty strings.");
        }
        strings.push_back(each.As<Napi::String>().Utf8Value());
    }
    return strings;
}

Job job_from_js(const Napi::Value& value) {
    const Napi::Object from = as_object(value, "job");
    Job                job;
    job.id           = integer_field<uint32_t>(from, "id");
    job.prompt       = tokens_field(from, "prompt");
    job.media        = media_from_js(from.Get("media"));
    job.max_tokens   = integer_field<int32_t>(from, "maxTokens");
    job.top_logprobs = integer_field<int32_t>(from, "topLogprobs");
    job.prompt_logprobs = integer_field<int32_t>(from, "promptLogprobs");
    job.cache_prompt = from.Get("cachePrompt").ToBoolean();
    job.cache_salt   = from.Get("cacheSalt").ToString();
    job.ignore_eos   = from.Get("ignoreEos").ToBoolean();
    job.drafts_from_text = from.Get("draftsFromText").ToBoolean();
    job.priority     = integer_field<int32_t>(from, "priority");
    job.stop         = strings_from_js(from, "stop");
    job.format_stops = strings_from_js(from, "formatStops");
    job.preserved_tokens = strings_from_js(from, "preservedTokens");
    job.sampling     = sampling_from_js(as_object(from.Get("sampling"), "sampling"));
    job.adapters     = adapters_from_js(from);
    job.reasoning_limit = reasoning_from_js(from.Get("reasoning"));
    return job;
}

EngineOptions engine_options_from_js(const Napi::Value& value) {
    const Napi::Object from = as_object(value, "options");
    EngineOptions      options;
    options.offload = offload_from_js(from.Get("offload"));
    options.read(OptionReader(from));
    options.offload.file.mtp = options.draft.mtp;
    options.vision.threads   = options.decoder.threads;
    if (from.Get("pooling").IsString()) {
        options.embedder.pooling = pooling_from_string(from.Get("pooling").ToString());
        if (!options.embedder.pooling) throw Napi::TypeError::New(from.Env(), "pooling must be a known one.");
    }
    return options;
}

}  // namespace chasqui
