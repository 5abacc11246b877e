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

TokenId llama_sample(llama_sampler* chain, const std::vector<float>& logits) {
    std::vector<llama_token_data> data;
    for (size_t id = 0; id < logits.size(); ++id) data.push_back({static_cast<llama_token>(id), logits[id], 0.0f});
    llama_token_data_array array{data.data(), data.size(), -1, false};
    llama_sampler_apply(chain, &array);
    return array.data[array.selected].id;
}

// Draws with both samplers, from the same logits and with the same seed. Returns how often they chose differently.
int differences(const SamplingSettings& settings, int rounds, uint32_t seed) {
    constexpr int32_t               kVocab = 2000;
    std::mt19937                    random(seed);
    std::normal_distribution<float> normal(0.0f, 2.5f);
    const Chain                     theirs = llama_chain(settings, kVocab);
    Sampler                         ours(settings);
    int                             different = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<float> logits(kVocab);
        for (float& logit : logits) logit = normal(random);
        const TokenId expected = llama_sample(theirs.get(), logits);
        const TokenId got      = ours.sample(logits.data(), kVocab);
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

}  // namespace
