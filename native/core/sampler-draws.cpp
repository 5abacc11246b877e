// How the chain draws a token with a sampler that learns from its draws: mirostat and adaptive-p.
#include "sampler-chain.h"

#include <algorithm>
#include <cmath>

namespace chasqui {

namespace {

// Mirostat estimates how fast probabilities fall from this many of the most probable tokens.
constexpr size_t kMirostatTokens = 100;
// The shape of adaptive-p's new logits, as in llama.cpp.
constexpr float kAdaptiveWidth = 0.3f, kAdaptivePeak = 5.0f, kAdaptiveSharpness = 10.0f;

}  // namespace

// Mirostat 1 keeps as many tokens as make the expected surprise what it should be, if probabilities fall as in a text by
// Zipf's law.
TokenId SamplerChain::draw_mirostat(int32_t n_vocab) {
    if (candidates_.size() == 1) return candidates_.front().id;
    sort();
    compute_probabilities();
    float products = 0, squares = 0;
    for (size_t i = 0; i + 1 < std::min(kMirostatTokens, candidates_.size()); ++i) {
        if (probabilities_[i + 1] <= 0.0f) break;
        const float t = std::log(static_cast<float>(i + 2) / static_cast<float>(i + 1));
        products += t * std::log(probabilities_[i] / probabilities_[i + 1]);
        squares += t * t;
    }
    const float slope   = products / squares;
    const float epsilon = slope - 1.0f;
    const float k = std::pow(epsilon * std::pow(2.0f, surprise_) /
                                 (1.0f - std::pow(static_cast<float>(n_vocab), -epsilon)),
                             1.0f / slope);
    // The formula has no finite result if all probabilities are equal, or if the second one is zero.
    const auto   most      = static_cast<double>(candidates_.size());
    const double otherwise = squares > 0 ? most : 1.0;
    const double keep = std::isfinite(k) ? std::clamp(std::floor(static_cast<double>(k)), 1.0, most) : otherwise;
    candidates_.resize(static_cast<size_t>(keep));
    return draw_surprising();
}

// Mirostat 2 drops the tokens that would surprise more than the limit.
TokenId SamplerChain::draw_mirostat_v2() {
    sort();
    compute_probabilities();
    size_t keep = 0;
    while (keep < candidates_.size() && !(-std::log2(probabilities_[keep]) > surprise_)) ++keep;
    candidates_.resize(std::max<size_t>(1, keep));
    return draw_surprising();
}

// Adaptive-p prefers tokens whose probability is near a target. The target moves against the recent mean: after
// improbable tokens it is higher.
TokenId SamplerChain::draw_adaptively() {
    compute_probabilities();
    const std::vector<float> original = probabilities_;
    const float              mean     = adaptive_sum_ / adaptive_weight_;
    const float              target   = std::clamp(2.0f * std::min(settings_.adaptive_target, 1.0f) - mean, 0.0f, 1.0f);
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const float distance = std::fabs(original[i] - target) / kAdaptiveWidth;
        candidates_[i].logit = kAdaptivePeak - kAdaptiveSharpness * distance * distance / (1.0f + distance);
    }
    is_sorted_         = false;
    const size_t drawn = draw_by_probability();
    adaptive_sum_      = original[drawn] + settings_.adaptive_decay * adaptive_sum_;
    adaptive_weight_   = 1.0f + settings_.adaptive_decay * adaptive_weight_;
    return candidates_[drawn].id;
}

size_t SamplerChain::draw_by_probability() {
    compute_probabilities();
    std::discrete_distribution<size_t> by_probability(probabilities_.begin(), probabilities_.end());
    return by_probability(draws_);
}

// Draws, and moves the limit of the surprise so that on average it becomes what it should be.
TokenId SamplerChain::draw_surprising() {
    const size_t drawn = draw_by_probability();
    surprise_ -= settings_.mirostat_eta * (-std::log2(probabilities_[drawn]) - settings_.mirostat_tau);
    return candidates_[drawn].id;
}

}  // namespace chasqui
