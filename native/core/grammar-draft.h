// Thread: engine, once submitted.
#pragma once

#include "job.h"

#include <cstddef>
#include <vector>

namespace chasqui {

// The tokens of the text that a sequence's grammar lets expect next (grammar/likely-text.h). Each proposal is compared
// with the tokens that follow, even if nothing was drafted.
//
// The text is tokenized without its continuation, so the last token is wrong more often: it may be the beginning of a
// longer one.
class GrammarDraft {
public:
    // Updates the rates. `tokens`: of the sequence.
    void catch_up(const std::vector<TokenId>& tokens);
    // `next`: the tokens that are expected after the `n_tokens` of the sequence.
    void propose(std::vector<TokenId> next, size_t n_tokens);

    const std::vector<TokenId>& proposal() const { return next_; }
    // Expected number of right tokens among the first n proposed ones, for n from 1 to `n_max`.
    std::vector<double> expected_hits(size_t n_max) const;

private:
    static constexpr double kNewestWeight = 0.15;

    bool    is_last(size_t i) const { return i + 1 == next_.size(); }
    double  rate(size_t i) const { return is_last(i) ? last_rate_ : rate_; }

    std::vector<TokenId> next_;
    size_t               n_tokens_  = 0;
    double               rate_      = 0.9;
    double               last_rate_ = 0.6;
};

}  // namespace chasqui
