// Thread: one at a time.
#pragma once

#include "job.h"

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace chasqui {

// Counts the tokens that the penalties apply to: the last `repeat_last_n`, those of the prompt included.
class RecentTokens {
public:
    explicit RecentTokens(int32_t capacity) : capacity_(capacity) {}  // 0: none, -1: all
    void                                        add(TokenId token);
    const std::unordered_map<TokenId, int32_t>& counts() const { return counts_; }

private:
    int32_t                              capacity_;
    std::deque<TokenId>                  order_;
    std::unordered_map<TokenId, int32_t> counts_;
};

// Whether any of the three penalties is on.
bool  has_penalties(const SamplingSettings& settings);
// The logit of a token that is among the recent ones `count` times.
float penalised(const SamplingSettings& settings, float logit, int32_t count);

}  // namespace chasqui
