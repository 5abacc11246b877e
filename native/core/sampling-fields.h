// Thread: any. Generated from ts/options/sampling-table.ts: npx tsx test/house/tables.ts
#pragma once

// Number(type, member of SamplingSettings, name in JavaScript, neutral value)
#define CHASQUI_SAMPLING_NUMBERS(Number) \
    Number(float, temperature, "temperature", 1.0f) \
    Number(int32_t, top_k, "topK", 0) \
    Number(float, top_p, "topP", 1.0f) \
    Number(float, min_p, "minP", 0.0f) \
    Number(float, repeat_penalty, "repeatPenalty", 1.0f) \
    Number(int32_t, repeat_last_n, "repeatLastN", 64) \
    Number(float, presence_penalty, "presencePenalty", 0.0f) \
    Number(float, frequency_penalty, "frequencyPenalty", 0.0f) \
    Number(float, typical_p, "typicalP", 1.0f) \
    Number(float, top_n_sigma, "topNSigma", -1.0f) \
    Number(float, xtc_probability, "xtcProbability", 0.0f) \
    Number(float, xtc_threshold, "xtcThreshold", 0.1f) \
    Number(float, dynatemp_range, "dynatempRange", 0.0f) \
    Number(float, dynatemp_exponent, "dynatempExponent", 1.0f) \
    Number(int32_t, mirostat, "mirostat", 0) \
    Number(float, mirostat_tau, "mirostatTau", 5.0f) \
    Number(float, mirostat_eta, "mirostatEta", 0.1f) \
    Number(float, adaptive_target, "adaptiveTarget", -1.0f) \
    Number(float, adaptive_decay, "adaptiveDecay", 0.9f) \
    Number(float, dry_multiplier, "dryMultiplier", 0.0f) \
    Number(float, dry_base, "dryBase", 1.75f) \
    Number(int32_t, dry_allowed_length, "dryAllowedLength", 2) \
    Number(int32_t, dry_penalty_last_n, "dryPenaltyLastN", 64)

// Sampler(name), in the default order
#define CHASQUI_SAMPLERS(Sampler) \
    Sampler(penalties) \
    Sampler(dry) \
    Sampler(top_n_sigma) \
    Sampler(top_k) \
    Sampler(typ_p) \
    Sampler(top_p) \
    Sampler(min_p) \
    Sampler(xtc) \
    Sampler(temperature) \
    Sampler(adaptive_p)
