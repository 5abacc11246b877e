// Thread: one at a time.
#pragma once

#include "job.h"

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace chasqui {

// Counts the tokens that penalties apply to: the last `repeat_last_n`, prompt included.
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

bool  has_penalties(const SamplingSettings& settings);
// The penalised logit of a token that occurs `count` times among the recent ones.
float penalised(const SamplingSettings& settings, float logit, int32_t count);

}  // namespace chasqui
