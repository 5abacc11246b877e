// Thread: main. Shared helpers of the sampler tests.
#pragma once

#include "check.h"

#include "core/sampler.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace chasqui::test {

inline std::vector<float> random_logits(size_t n, uint32_t seed) {
    std::mt19937                    random(seed);
    std::normal_distribution<float> normal(0.0f, 3.0f);
    std::vector<float>              logits(n);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

inline int32_t size_of(const std::vector<float>& logits) { return static_cast<int32_t>(logits.size()); }

inline std::map<TokenId, int> draw_many(const SamplingSettings& settings, std::vector<float> logits, int n) {
    Sampler                sampler(settings);
    std::map<TokenId, int> drawn;
    for (int i = 0; i < n; ++i) ++drawn[sampler.sample(logits.data(), size_of(logits))];
    return drawn;
}

inline std::vector<TokenId> by_logit(const std::vector<float>& logits) {
    std::vector<TokenId> order(logits.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<TokenId>(i);
    std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
        return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    return order;
}

}  // namespace chasqui::test
