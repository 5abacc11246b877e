// Thread: engine.
#pragma once

#include "job.h"

#include <cstddef>
#include <vector>

namespace chasqui {

// Guesses how a text goes on by looking for its last few tokens earlier in it: answers that quote their prompt (a
// summary, an edited file) repeat it for long stretches. A guess costs nothing but the rows that check it.
//
// Returns `n_max` tokens: those that followed the latest earlier occurrence of the last `n_gram` tokens, over and over if
// they are fewer. Empty when there is no such occurrence.
std::vector<TokenId> look_up(const std::vector<TokenId>& tokens, size_t n_gram, size_t n_max);

// How many tokens to guess at a time: more while guesses come true, fewer while they do not, and for a while none at
// all after they have failed altogether.
class DraftLength {
public:
    explicit DraftLength(size_t n_max) : n_max_(n_max) {}

    size_t next();
    void   observe(size_t n_drafted, size_t n_accepted);

private:
    size_t n_max_;
    size_t length_ = 4;
    size_t rest_   = 0;  // tokens to go without guessing
};

}  // namespace chasqui
