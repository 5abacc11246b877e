// Thread: engine.
#pragma once

#include "job.h"

#include <cstddef>
#include <vector>

namespace chasqui {

// Drafts without a model: the last few tokens are looked up earlier in the text. Completions that quote their prompt (a
// summary, an edited file) repeat it for long stretches, and such a draft costs nothing but the rows that check it.
//
// Returns the `n_max` tokens that followed the latest earlier occurrence of the last `n_gram` tokens, over and over if
// they are fewer. Empty when there is no such occurrence.
std::vector<TokenId> propose_ngram(const std::vector<TokenId>& tokens, size_t n_gram, size_t n_max);

// How many tokens to draft at a time: the length grows while drafts are accepted and shrinks while they are rejected.
// When even the shortest drafts are rejected, drafting stops for a while.
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
