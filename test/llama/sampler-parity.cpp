#include "../native/check.h"

#include "core/sampler.h"

#include <llama.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

struct FreeSampler {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using Chain = std::unique_ptr<llama_sampler, FreeSampler>;

Chain llama_chain(const SamplingSettings& settings, int32_t n_vocab) {
    Chain chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    const auto add = [&](llama_sampler* sampler) { llama_sampler_chain_add(chain.get(), sampler); };
    std::vector<llama_logit_bias> biases;
    for (const auto& [token, bias] : settings.logit_bias) biases.push_back({token, bias});
    add(llama_sampler_init_logit_bias(n_vocab, static_cast<int32_t>(biases.size()), biases.data()));
    add(llama_sampler_init_penalties(n_vocab, settings.repeat_last_n, settings.repeat_penalty,
                                     settings.frequency_penalty, settings.presence_penalty));
    if (settings.temperature <= 0) {
        add(llama_sampler_init_greedy());
        return chain;
    }
    if (settings.top_k > 0) add(llama_sampler_init_top_k(settings.top_k));
    add(llama_sampler_init_top_p(settings.top_p, 1));
    add(llama_sampler_init_min_p(settings.min_p, 1));
    add(llama_sampler_init_temp(settings.temperature));
    add(llama_sampler_init_dist(settings.seed));
    return chain;
}

// As `common_sampler_init` of llama.cpp puts it together, for jobs with other samplers.
Chain whole_llama_chain(const SamplingSettings& settings, int32_t n_vocab) {
    Chain      chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    const auto add = [&](llama_sampler* sampler) { llama_sampler_chain_add(chain.get(), sampler); };
    if (settings.mirostat != 0) {
        add(llama_sampler_init_temp(settings.temperature));
        add(settings.mirostat == 1 ? llama_sampler_init_mirostat(n_vocab, settings.seed, settings.mirostat_tau,
                                                                 settings.mirostat_eta, 100)
                                   : llama_sampler_init_mirostat_v2(settings.seed, settings.mirostat_tau,
                                                                    settings.mirostat_eta));
        return chain;
    }
    static const std::vector<SamplerKind> usual = {
        SamplerKind::penalties, SamplerKind::dry,   SamplerKind::top_n_sigma, SamplerKind::top_k,
        SamplerKind::typ_p, SamplerKind::top_p, SamplerKind::min_p,       SamplerKind::xtc,
        SamplerKind::temperature};
    bool is_adaptive = false;
    for (const SamplerKind kind : settings.samplers.empty() ? usual : settings.samplers) {
        switch (kind) {
            case SamplerKind::penalties:
                add(llama_sampler_init_penalties(n_vocab, settings.repeat_last_n, settings.repeat_penalty,
                                                 settings.frequency_penalty, settings.presence_penalty));
                break;
            case SamplerKind::dry:
                add(llama_sampler_init_dry(nullptr, settings.dry_multiplier, settings.dry_base, settings.dry_allowed_length,
                                           settings.dry_penalty_last_n, nullptr, 0));
                break;
            case SamplerKind::top_n_sigma: add(llama_sampler_init_top_n_sigma(settings.top_n_sigma)); break;
            case SamplerKind::top_k: add(llama_sampler_init_top_k(settings.top_k)); break;
            case SamplerKind::typ_p: add(llama_sampler_init_typical(settings.typical_p, 0)); break;
            case SamplerKind::top_p: add(llama_sampler_init_top_p(settings.top_p, 0)); break;
            case SamplerKind::min_p: add(llama_sampler_init_min_p(settings.min_p, 0)); break;
            case SamplerKind::xtc:
                add(llama_sampler_init_xtc(settings.xtc_probability, settings.xtc_threshold, 0, settings.seed));
                break;
            case SamplerKind::temperature:
                add(llama_sampler_init_temp_ext(settings.temperature, settings.dynatemp_range,
                                                settings.dynatemp_exponent));
                break;
            case SamplerKind::adaptive_p: is_adaptive = true; break;
        }
    }
    add(is_adaptive ? llama_sampler_init_adaptive_p(settings.adaptive_target, settings.adaptive_decay, settings.seed)
                    : llama_sampler_init_dist(settings.seed));
    return chain;
}

TokenId llama_sample(llama_sampler* chain, const std::vector<float>& logits) {
    std::vector<llama_token_data> data;
    for (size_t id = 0; id < logits.size(); ++id) data.push_back({static_cast<llama_token>(id), logits[id], 0.0f});
    llama_token_data_array array{data.data(), data.size(), -1, false};
    llama_sampler_apply(chain, &array);
    return array.data[array.selected].id;
}

// Draws with both samplers, from the same logits and with the same seed. Returns how often they chose differently.
int differences(const SamplingSettings& settings, int rounds, uint32_t seed, int32_t n_vocab = 2000) {
    std::mt19937                    random(seed);
    std::normal_distribution<float> normal(0.0f, 2.5f);
    const bool                      is_chain = SamplerChain::is_needed(settings);
    const Chain                     theirs   = is_chain ? whole_llama_chain(settings, n_vocab) : llama_chain(settings, n_vocab);
    Sampler                         ours(settings);
    int                             different = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<float> logits(n_vocab);
        for (float& logit : logits) logit = normal(random);
        const TokenId expected = llama_sample(theirs.get(), logits);
        const TokenId got      = ours.sample(logits.data(), n_vocab);
        different += expected != got ? 1 : 0;
        llama_sampler_accept(theirs.get(), expected);
        ours.accept(expected);
    }
    return different;
}

SamplingSettings with(float temperature, int32_t top_k, float top_p, float min_p) {
    SamplingSettings settings;
    settings.temperature = temperature;
    settings.top_k       = top_k;
    settings.top_p       = top_p;
    settings.min_p       = min_p;
    settings.seed        = 42;
    return settings;
}

const Test exact("sampler parity: greedy, top_k, min_p and temperature choose token for token as llama.cpp does", [] {
    expect_equal(differences(with(0, 0, 1, 0), 500, 1), 0);
    expect_equal(differences(with(1, 40, 1, 0), 1000, 2), 0);
    expect_equal(differences(with(0.3f, 0, 1, 0.15f), 1000, 3), 0);
    expect_equal(differences(with(1.7f, 50, 1, 0.05f), 1000, 4), 0);
    expect_equal(differences(with(0.8f, 3, 1, 0), 1000, 5), 0);
});

// A running sum of floats decides where the nucleus ends; another order of additions can move that by a token.
const Test nucleus("sampler parity: top_p chooses as llama.cpp does but for the rounding of its running sum", [] {
    for (const auto& settings : {with(1, 50, 0.9f, 0), with(1, 0, 0.9f, 0), with(0.7f, 0, 0.5f, 0.02f)}) {
        const int different = differences(settings, 2000, 6);
        expect(different <= 2, std::to_string(different) + " of 2000 differ, 2 allowed");
    }
});

// When no token is excluded, llama.cpp divides and adds 2,000 floats in another order than we do.
const Test everything("sampler parity: the whole distribution is drawn from alike", [] {
    const int different = differences(with(1, 0, 1, 0), 2000, 7);
    expect(different <= 2, std::to_string(different) + " of 2000 differ, 2 allowed");
});

const Test penalties("sampler parity: penalties and biases act alike", [] {
    SamplingSettings settings  = with(0, 0, 1, 0);
    settings.repeat_penalty    = 1.3f;
    settings.frequency_penalty = 0.4f;
    settings.presence_penalty  = 0.6f;
    settings.repeat_last_n     = 20;
    expect_equal(differences(settings, 1000, 8), 0);
    settings.logit_bias = {{3, 2.5f}, {7, -INFINITY}, {1999, 9.0f}};
    expect_equal(differences(settings, 1000, 9), 0);
    settings.temperature = 1;
    settings.top_k       = 40;
    expect_equal(differences(settings, 1000, 10), 0);
});

// Every choice, and with it everything that was learned from the choices before, must be the same.
void expect_alike(const char* what, const SamplingSettings& settings, int allowed, int32_t n_vocab = 2000) {
    expect(SamplerChain::is_needed(settings), std::string(what) + " needs the chain");
    constexpr int kRounds   = 1500;
    const int     different = differences(settings, kRounds, 11, n_vocab);
    expect(different <= allowed, std::string(what) + ": " + std::to_string(different) + " of " +
                                     std::to_string(kRounds) + " differ, " + std::to_string(allowed) + " allowed");
}

const Test typical("sampler parity: typical_p chooses as llama.cpp does, alone and after top_k", [] {
    SamplingSettings settings = with(1, 0, 1, 0);
    settings.typical_p        = 0.7f;
    expect_alike("typical_p", settings, 2);
    settings.top_k     = 40;
    settings.top_p     = 0.9f;
    settings.typical_p = 0.3f;
    expect_alike("typical_p after top_k", settings, 2);
});

const Test sigma("sampler parity: top_n_sigma chooses as llama.cpp does", [] {
    SamplingSettings settings = with(1.5f, 0, 1, 0);
    settings.top_n_sigma      = 1.0f;
    expect_alike("top_n_sigma", settings, 2);
    settings.top_n_sigma = 0.5f;
    settings.top_k       = 20;
    expect_alike("top_n_sigma before top_k", settings, 2);
});

const Test xtc("sampler parity: xtc leaves the same tokens out, in the same draws", [] {
    SamplingSettings settings = with(1, 0, 1, 0);
    settings.xtc_probability  = 0.5f;
    settings.xtc_threshold    = 0.02f;
    expect_alike("xtc", settings, 2);
    settings.xtc_probability = 1.0f;
    settings.top_k           = 30;
    settings.min_p           = 0.05f;
    expect_alike("xtc after top_k and min_p", settings, 0);
});

const Test dynamic("sampler parity: a dynamic temperature follows the entropy as llama.cpp's does", [] {
    SamplingSettings settings = with(1, 0, 1, 0);
    settings.dynatemp_range   = 0.8f;
    expect_alike("dynatemp", settings, 2);
    settings.dynatemp_exponent = 2.5f;
    settings.top_k             = 40;
    settings.temperature       = 0.5f;  // the lowest is greedy
    expect_alike("dynatemp after top_k", settings, 2);
});

const Test mirostat("sampler parity: both versions of mirostat choose, and learn, as llama.cpp's do", [] {
    for (const int32_t version : {1, 2}) {
        SamplingSettings settings = with(1, 0, 1, 0);
        settings.mirostat         = version;
        settings.mirostat_tau     = 3.0f;
        // Their limits are sums over all tokens so far: one rounded otherwise moves all that follow by next to nothing.
        expect_alike("mirostat", settings, 3);
        settings.temperature  = 0.6f;
        settings.mirostat_eta = 0.3f;
        expect_alike("mirostat at another temperature", settings, 3);
    }
});

const Test adaptive("sampler parity: adaptive_p chooses, and adapts its target, as llama.cpp does", [] {
    SamplingSettings settings = with(1, 0, 1, 0.02f);
    settings.samplers         = {SamplerKind::min_p, SamplerKind::adaptive_p};
    for (const auto& [target, decay] : {std::pair{0.1f, 0.9f}, {0.6f, 0.5f}, {0.0f, 0.0f}, {1.0f, 0.99f}}) {
        settings.adaptive_target = target;
        settings.adaptive_decay  = decay;
        expect_alike("adaptive_p", settings, 3);
    }
    settings.samplers = {SamplerKind::adaptive_p, SamplerKind::top_k, SamplerKind::temperature};
    settings.top_k    = 20;
    expect_alike("adaptive_p named first", settings, 3);
});

const Test named("sampler parity: adaptive_p has no effect unless it is named and its target is not negative", [] {
    SamplingSettings settings = with(1, 20, 1, 0);
    settings.adaptive_target  = 0.5f;
    expect(!SamplerChain::is_needed(settings), "the usual samplers need no chain");
    settings.dynatemp_range = 0.1f;
    expect_alike("adaptive_target alone", settings, 0);
    settings.samplers        = {SamplerKind::top_k, SamplerKind::adaptive_p};
    settings.adaptive_target = -1;
    const SamplingSettings negative = settings;
    settings.samplers        = {SamplerKind::top_k};
    Sampler                         one(negative), other(settings);
    std::mt19937                    random(5);
    std::normal_distribution<float> normal(0.0f, 2.5f);
    for (int round = 0; round < 200; ++round) {
        std::vector<float> logits(2000);
        for (float& logit : logits) logit = normal(random);
        expect_equal(one.sample(logits.data(), 2000), other.sample(logits.data(), 2000));
    }
});

const Test repetitions("sampler parity: dry penalises the same tokens by the same amounts", [] {
    // So few tokens that texts repeat themselves.
    for (const int32_t last_n : {20, 200, 5000}) {
        SamplingSettings settings   = with(1, 0, 1, 0);
        settings.dry_multiplier     = 0.8f;
        settings.dry_allowed_length = 1;
        settings.dry_penalty_last_n = last_n;
        expect_alike("dry", settings, 0, 6);
        settings.dry_allowed_length = 3;
        settings.dry_base           = 1.2f;
        expect_alike("dry with longer repetitions", settings, 0, 4);
    }
});

const Test order("sampler parity: samplers are applied in the order that is asked for, and no others", [] {
    SamplingSettings settings = with(0.7f, 15, 0.8f, 0.1f);
    settings.repeat_penalty   = 1.4f;
    settings.samplers         = {SamplerKind::temperature, SamplerKind::min_p, SamplerKind::top_p, SamplerKind::top_k};
    expect_alike("another order", settings, 2);
    settings.samplers = {SamplerKind::top_k};
    expect_alike("top_k alone", settings, 0);
    settings.samplers = {SamplerKind::top_k, SamplerKind::penalties, SamplerKind::temperature};
    expect_alike("penalties after top_k", settings, 0);
});

// A chain in the usual order gives what the shortcuts give.
const Test shortcuts("sampler parity: the chain and the shortcuts choose alike", [] {
    SamplingSettings plain = with(0.9f, 40, 1, 0.05f), chained = plain;
    plain.repeat_penalty = chained.repeat_penalty = 1.2f;
    chained.dynatemp_range                        = 1e-30f;
    Sampler                         one(plain), other(chained);
    std::mt19937                    random(5);
    std::normal_distribution<float> normal(0.0f, 2.5f);
    for (int round = 0; round < 500; ++round) {
        std::vector<float> logits(2000);
        for (float& logit : logits) logit = normal(random);
        const TokenId token = one.sample(logits.data(), 2000);
        expect_equal(other.sample(logits.data(), 2000), token);
        one.accept(token);
        other.accept(token);
    }
});

}  // namespace
