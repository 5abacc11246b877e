// Thread: engine, once submitted.
#pragma once

#include "job.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chasqui {

// How often the lookup's next token was the right one, by how many tokens had matched: long matches are quotations, short
// ones are often chance. Newer outcomes count more.
class HitRates {
public:
    // Each outcome moves the rate by this share of the way.
    explicit HitRates(double newest_weight) : newest_weight_(newest_weight) {}

    // What a sequence starts from, which is what others have seen; its own outcomes count with `newest_weight`.
    HitRates for_sequence(double newest_weight) const;
    void     observe(size_t match_length, bool was_right);
    double   of(size_t match_length) const { return rates_[class_of(match_length)]; }

private:
    static constexpr size_t kClasses = 5;
    static size_t           class_of(size_t match_length);

    double newest_weight_;
    // What is believed before anything has been seen.
    std::array<double, kClasses> rates_ = {0.35, 0.45, 0.6, 0.75, 0.85};
};

// Drafts without a model: what followed the last few tokens where they occurred earlier in the text. Completions that
// quote their prompt (a summary, an edited file) repeat it for long stretches, and such a draft costs nothing but the
// rows that check it.
//
// What it would have proposed is compared with each token that is sampled, drafted or not. So how good it is becomes
// known without a row being computed for that.
//
//   tokens   │ a b c d e f g a b c │       the last three occurred before d: the match is 3 tokens long, and d e f g
//                    ▲       └─ last       is proposed
//                    └─ from()
//
// Each token takes a few comparisons however long the text is, and memory for two numbers.
class PromptLookup {
public:
    // A match of fewer tokens is none.
    static constexpr size_t kMinMatch = 3;

    // Takes in the tokens since the last call. The sampled ones, after `n_prompt`, tell how good the lookup is: this
    // sequence's own rates and `everywhere` learn from them.
    void catch_up(const std::vector<TokenId>& tokens, size_t n_prompt, HitRates& everywhere);

    // How many of the last tokens occur earlier in the text, 0 or at least kMinMatch; long matches count as kMaxMatch.
    size_t match_length() const { return match_.length; }
    // At most `n_max` tokens that followed there, none if there is no match. Past the end of the text they go on with
    // themselves, as if the repetition went on. They end before an image.
    std::vector<TokenId> propose(const std::vector<TokenId>& tokens, size_t n_max) const;
    // How many of the first n tokens of a proposal are expected to be right, for n from 1 to `n_max`.
    std::vector<double> expected_hits(size_t n_max) const;

private:
    // Longer matches are not told apart.
    static constexpr size_t kMaxMatch = 32;
    // Earlier occurrences that are compared for each token, latest first.
    static constexpr size_t kMaxCandidates = 8;
    // The weight of the newest outcome in a sequence's own rates: after five tokens the last ones count for more than
    // all before them.
    static constexpr double kNewestWeight = 0.15;

    struct Match {
        size_t length = 0;
        size_t from   = 0;  // of what followed
    };

    void   add(const std::vector<TokenId>& tokens, size_t n_prompt, HitRates& everywhere);
    void   find_longer(const std::vector<TokenId>& tokens, size_t end, Match& match) const;
    void   insert(const std::vector<TokenId>& tokens, size_t end);
    void   grow(const std::vector<TokenId>& tokens);
    size_t bucket(const std::vector<TokenId>& tokens, size_t end) const;

    // Places in the text by the tokens before them, in chains: `latest_` by their hash, 0 for none, and the place before
    // each in `earlier_`.
    std::vector<uint32_t> latest_, earlier_;
    Match                 match_;
    HitRates              rates_{kNewestWeight};
    bool                  has_rates_ = false;
};

// How many tokens to have a draft model draft at a time: the length grows while drafts are accepted and shrinks while
// they are rejected. When even the shortest drafts are rejected, drafting stops for a while.
class DraftLength {
public:
    explicit DraftLength(size_t n_max) : n_max_(n_max) {}

    size_t next();
    void   observe(size_t n_drafted, size_t n_accepted);

private:
    size_t n_max_;
    size_t length_   = 4;
    size_t cooldown_ = 0;  // calls of next() that still return 0
};

}  // namespace chasqui
