// Thread: engine, once submitted.
#pragma once

#include "job.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chasqui {

// How often the lookup's next token was right, by the length of the match: long matches are quotations, short ones are
// often chance. A moving average.
class HitRates {
public:
    // `newest_weight`: weight of the newest outcome.
    explicit HitRates(double newest_weight) : newest_weight_(newest_weight) {}

    // Initial rates for a sequence; its own outcomes count with `newest_weight`.
    HitRates for_sequence(double newest_weight) const;
    void     observe(size_t match_length, bool was_right);
    double   of(size_t match_length) const { return rates_[class_of(match_length)]; }

private:
    static constexpr size_t kClasses = 5;
    static size_t           class_of(size_t match_length);

    double newest_weight_;
    // Before any outcomes.
    std::array<double, kClasses> rates_ = {0.35, 0.45, 0.6, 0.75, 0.85};
};

// Prompt lookup: proposes the tokens that followed an earlier occurrence of the last few tokens. Completions that quote
// their prompt (a summary, an edited file) repeat it for long stretches, and such a draft costs only the rows that
// verify it.
//
// Every sampled token is compared with the proposal, even if nothing was drafted. This measures the lookup without
// computing rows for it.
//
//   tokens   │ a b c d e f g a b c │       the last three tokens occurred before d: the match has 3 tokens, and d e f g
//                    ▲       └─ last       is proposed
//                    └─ from()
//
// Each token takes a few comparisons regardless of the text's length, and memory for two numbers.
class PromptLookup {
public:
    // Shorter matches are ignored.
    static constexpr size_t kMinMatch = 3;

    // Adds the tokens since the last call. The sampled ones, after `n_prompt`, update this sequence's rates and
    // `everywhere`.
    void catch_up(const std::vector<TokenId>& tokens, size_t n_prompt, HitRates& everywhere);

    // How many of the last tokens occur earlier in the text: 0, or from kMinMatch to kMaxMatch.
    size_t match_length() const { return match_.length; }
    // Up to `n_max` tokens that followed the match. Past the end of the text the proposal repeats itself. It ends
    // before an image.
    std::vector<TokenId> propose(const std::vector<TokenId>& tokens, size_t n_max) const;
    // Expected number of right tokens among the first n proposed ones, for n from 1 to `n_max`.
    std::vector<double> expected_hits(size_t n_max) const;

private:
    static constexpr size_t kMaxMatch = 32;
    // Earlier occurrences to compare for each token, latest first.
    static constexpr size_t kMaxCandidates = 8;
    // Weight of the newest outcome in a sequence's own rates: the last five tokens count more than all before them.
    static constexpr double kNewestWeight = 0.15;

    struct Match {
        size_t length = 0;
        size_t from   = 0;  // position of the token that followed
    };

    void   add(const std::vector<TokenId>& tokens, size_t n_prompt, HitRates& everywhere);
    void   find_longer(const std::vector<TokenId>& tokens, size_t end, Match& match) const;
    void   insert(const std::vector<TokenId>& tokens, size_t end);
    void   grow(const std::vector<TokenId>& tokens);
    size_t bucket(const std::vector<TokenId>& tokens, size_t end) const;

    // A hash table of positions by the tokens before them: `latest_` has the latest position of each bucket (0: none),
    // and `earlier_` the previous position of each position.
    std::vector<uint32_t> latest_, earlier_;
    Match                 match_;
    HitRates              rates_{kNewestWeight};
    bool                  has_rates_ = false;
};

// The draft length of a draft model: grows while drafts are accepted and shrinks while they are rejected. When even the
// shortest drafts are rejected, drafting pauses.
class DraftLength {
public:
    explicit DraftLength(size_t n_max) : n_max_(n_max) {}

    size_t next();
    void   observe(size_t n_drafted, size_t n_accepted);

private:
    size_t n_max_;
    size_t length_   = 4;
    size_t cooldown_ = 0;  // calls of next() that will still return 0
};

}  // namespace chasqui
