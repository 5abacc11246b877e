#include "prompt-lookup.h"

#include <algorithm>

namespace chasqui {

namespace {

// How long not to guess after guesses that were all wrong.
constexpr size_t kRest = 16;

}  // namespace

std::vector<TokenId> look_up(const std::vector<TokenId>& tokens, size_t n_gram, size_t n_max) {
    if (n_gram == 0 || n_max == 0 || tokens.size() <= n_gram) return {};
    const auto pattern = tokens.end() - static_cast<std::ptrdiff_t>(n_gram);
    // The pattern itself is left out, but an occurrence may overlap it.
    const auto found = std::find_end(tokens.begin(), tokens.end() - 1, pattern, tokens.end());
    if (found == tokens.end() - 1) return {};
    const auto           from = static_cast<size_t>(found - tokens.begin()) + n_gram;
    std::vector<TokenId> guess;
    for (size_t at = from; guess.size() < n_max; ++at) {
        // Past the end of the text the guess goes on with itself: what repeats once is taken to repeat on.
        const TokenId next = at < tokens.size() ? tokens[at] : guess[at - tokens.size()];
        if (next < 0) break;  // a picture
        guess.push_back(next);
    }
    return guess;
}

size_t DraftLength::next() {
    if (rest_ == 0) return std::min(length_, n_max_);
    --rest_;
    return 0;
}

void DraftLength::observe(size_t n_drafted, size_t n_accepted) {
    if (n_drafted == 0) return;
    if (n_accepted == n_drafted) {
        length_ = std::min(n_max_, 2 * length_);
    } else if (2 * n_accepted < n_drafted) {
        length_ = std::max<size_t>(1, length_ / 2);
        if (n_accepted == 0 && length_ == 1) {
            rest_   = kRest;
            length_ = 4;
        }
    }
}

}  // namespace chasqui
