#include "recent-tokens.h"

namespace chasqui {

void RecentTokens::add(TokenId token) {
    if (capacity_ == 0) return;
    ++counts_[token];
    order_.push_back(token);
    if (capacity_ < 0 || order_.size() <= static_cast<size_t>(capacity_)) return;
    const auto oldest = counts_.find(order_.front());
    if (--oldest->second == 0) counts_.erase(oldest);
    order_.pop_front();
}

bool has_penalties(const SamplingSettings& settings) {
    return settings.repeat_penalty != 1.0f || settings.presence_penalty != 0.0f || settings.frequency_penalty != 0.0f;
}

float penalised(const SamplingSettings& settings, float logit, int32_t count) {
    // Dividing a negative logit would make the token more likely.
    logit = logit <= 0 ? logit * settings.repeat_penalty : logit / settings.repeat_penalty;
    return logit - (static_cast<float>(count) * settings.frequency_penalty + settings.presence_penalty);
}

}  // namespace chasqui
