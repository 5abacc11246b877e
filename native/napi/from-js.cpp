#include "from-js.h"

#include "images-from-js.h"
#include "offload-values.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

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

// The biases come as two arrays of the same length: tokens, and what to add to their logits.
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

constexpr std::pair<SamplerKind, const char*> kSamplers[] = {
    {SamplerKind::penalties, "penalties"}, {SamplerKind::dry, "dry"},
    {SamplerKind::top_n_sigma, "top_n_sigma"}, {SamplerKind::top_k, "top_k"},
    {SamplerKind::typical_p, "typ_p"},     {SamplerKind::top_p, "top_p"},
    {SamplerKind::min_p, "min_p"},         {SamplerKind::xtc, "xtc"},
    {SamplerKind::temperature, "temperature"}};

std::vector<SamplerKind> samplers_from_js(const Napi::Object& from) {
    std::vector<SamplerKind> samplers;
    for (const std::string& name : strings_from_js(from, "samplers")) {
        const auto is_it = [&](const auto& each) { return name == each.second; };
        const auto found = std::find_if(std::begin(kSamplers), std::end(kSamplers), is_it);
        if (found == std::end(kSamplers)) throw Napi::TypeError::New(from.Env(), "samplers must be known ones.");
        samplers.push_back(found->first);
    }
    return samplers;
}

DrySettings dry_from_js(const Napi::Object& from) {
    DrySettings dry;
    dry.multiplier     = float_field(from, "dryMultiplier");
    dry.base           = float_field(from, "dryBase");
    dry.allowed_length = integer_field<int32_t>(from, "dryAllowedLength");
    dry.last_n         = integer_field<int32_t>(from, "dryPenaltyLastN");
    dry.breaker_texts  = strings_from_js(from, "drySequenceBreakers");
    if (dry.allowed_length < 0) throw Napi::TypeError::New(from.Env(), "dryAllowedLength must not be negative.");
    return dry;
}

void read_further_samplers(const Napi::Object& from, SamplingSettings& sampling) {
    sampling.typical_p         = float_field(from, "typicalP");
    sampling.top_n_sigma       = float_field(from, "topNSigma");
    sampling.xtc_probability   = float_field(from, "xtcProbability");
    sampling.xtc_threshold     = float_field(from, "xtcThreshold");
    sampling.dynatemp_range    = float_field(from, "dynatempRange");
    sampling.dynatemp_exponent = float_field(from, "dynatempExponent");
    sampling.mirostat          = integer_field<int32_t>(from, "mirostat");
    sampling.mirostat_tau      = float_field(from, "mirostatTau");
    sampling.mirostat_eta      = float_field(from, "mirostatEta");
    sampling.dry               = dry_from_js(from);
    sampling.samplers          = samplers_from_js(from);
}

SamplingSettings sampling_from_js(const Napi::Object& from) {
    SamplingSettings sampling;
    sampling.temperature       = float_field(from, "temperature");
    sampling.top_k             = integer_field<int32_t>(from, "topK");
    sampling.top_p             = float_field(from, "topP");
    sampling.min_p             = float_field(from, "minP");
    sampling.repeat_penalty    = float_field(from, "repeatPenalty");
    sampling.repeat_last_n     = integer_field<int32_t>(from, "repeatLastN");
    sampling.presence_penalty  = float_field(from, "presencePenalty");
    sampling.frequency_penalty = float_field(from, "frequencyPenalty");
    sampling.seed              = integer_field<uint32_t>(from, "seed");
    sampling.logit_bias        = logit_bias_from_js(from);
    sampling.logprobs_after    = from.Get("logprobsAfter").ToBoolean();
    read_further_samplers(from, sampling);
    return sampling;
}

// The adapters come as two arrays of the same length: indices, ascending, and scales.
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

std::string string_field(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (!value.IsString()) throw Napi::TypeError::New(from.Env(), std::string(name) + " must be a string.");
    return value.As<Napi::String>().Utf8Value();
}

std::optional<ReasoningLimit> reasoning_from_js(const Napi::Value& value) {
    if (value.IsNull()) return std::nullopt;
    const Napi::Object from = as_object(value, "reasoning");
    ReasoningLimit     limit;
    limit.start      = string_field(from, "start");
    limit.ends       = strings_from_js(from, "ends");
    limit.prompt_end = string_field(from, "promptEnd");
    limit.max_tokens = integer_field<uint32_t>(from, "maxTokens");
    limit.message    = tokens_field(from, "message");
    if (limit.start.empty() || limit.ends.empty()) throw Napi::TypeError::New(from.Env(), "reasoning must have tags.");
    return limit;
}

RopeSettings rope_from_js(const Napi::Object& from) {
    RopeSettings rope;
    rope.scaling               = string_field(from, "scaling");
    rope.frequency_base        = float_field(from, "frequencyBase");
    rope.frequency_scale       = float_field(from, "frequencyScale");
    rope.yarn_original_context = integer_field<uint32_t>(from, "yarnOriginalContext");
    rope.yarn_extrapolation    = float_field(from, "yarnExtrapolation");
    rope.yarn_attention        = float_field(from, "yarnAttention");
    rope.yarn_beta_slow        = float_field(from, "yarnBetaSlow");
    rope.yarn_beta_fast        = float_field(from, "yarnBetaFast");
    return rope;
}

ContextSettings context_from_js(const Napi::Object& from, const char* keys, const char* values) {
    ContextSettings context;
    context.keys            = string_field(from, keys);
    context.values          = string_field(from, values);
    context.flash_attention = string_field(from, "flashAttention");
    return context;
}

DraftOptions draft_from_js(const Napi::Object& from) {
    DraftOptions draft;
    draft.model_path = from.Get("draftModelPath").ToString().Utf8Value();
    draft.mtp        = from.Get("draftMtp").ToBoolean();
    draft.n_max      = integer_field<uint16_t>(from, "draftMax");
    draft.n_min      = integer_field<uint16_t>(from, "draftMin");
    draft.p_min      = float_field(from, "draftPMin");
    draft.on_gpus    = from.Get("draftsOnGpus").ToBoolean();
    draft.context    = context_from_js(from, "draftCacheTypeK", "draftCacheTypeV");
    return draft;
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
    job.cache_prompt = from.Get("cachePrompt").ToBoolean();
    job.ignore_eos   = from.Get("ignoreEos").ToBoolean();
    job.drafts_from_text = from.Get("draftsFromText").ToBoolean();
    job.priority     = integer_field<int32_t>(from, "priority");
    job.stop         = strings_from_js(from, "stop");
    job.preserved_tokens = strings_from_js(from, "preservedTokens");
    job.sampling     = sampling_from_js(as_object(from.Get("sampling"), "sampling"));
    job.adapters     = adapters_from_js(from);
    job.reasoning_limit = reasoning_from_js(from.Get("reasoning"));
    return job;
}

EngineOptions engine_options_from_js(const Napi::Value& value) {
    const Napi::Object from = as_object(value, "options");
    EngineOptions      options;
    options.offload                = offload_from_js(from.Get("offload"));
    options.decoder.context_length = integer_field<uint32_t>(from, "contextLength");
    options.embedder.context_length = integer_field<uint32_t>(from, "embeddingContextLength");
    options.decoder.n_slots        = integer_field<uint32_t>(from, "parallel");
    options.decoder.threads        = integer_field<int32_t>(from, "threads");
    options.decoder.n_batch        = integer_field<uint32_t>(from, "batchSize");
    options.decoder.n_ubatch       = integer_field<uint32_t>(from, "ubatchSize");
    options.decoder.threads_batch  = integer_field<int32_t>(from, "threadsBatch");
    options.decoder.context        = context_from_js(from, "cacheTypeK", "cacheTypeV");
    options.decoder.context.rope   = rope_from_js(as_object(from.Get("rope"), "rope"));
    options.numa                   = string_field(from, "numa");
    options.vision.path            = from.Get("mmprojPath").ToString();
    options.vision.cache_bytes     = static_cast<size_t>(number_field(from, "imageCacheBytes"));
    options.vision.threads         = options.decoder.threads;
    options.cache_ram_bytes        = static_cast<size_t>(number_field(from, "cacheRamBytes"));
    options.kv_budget_bytes        = static_cast<size_t>(number_field(from, "kvBudgetBytes"));
    options.cache_disk_bytes       = static_cast<uint64_t>(number_field(from, "cacheDiskBytes"));
    options.cache_folder           = string_field(from, "cacheFolder");
    options.draft                  = draft_from_js(from);
    options.offload.file.mtp       = options.draft.mtp;
    options.deterministic          = from.Get("deterministic").ToBoolean();
    if (from.Get("pooling").IsString()) {
        options.embedder.pooling = pooling_from_string(from.Get("pooling").ToString());
        if (!options.embedder.pooling) throw Napi::TypeError::New(from.Env(), "pooling must be a known one.");
    }
    options.target_step_ms         = number_field(from, "targetStepMs");
    options.chat_template          = from.Get("chatTemplate").ToString();
    options.adapters               = strings_from_js(from, "adapters");
    return options;
}

}  // namespace chasqui
