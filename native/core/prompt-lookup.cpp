#include "prompt-lookup.h"

#include <algorithm>

namespace chasqui {

namespace {

// Once rejected drafts have shrunk to one token, this many steps go without a draft.
constexpr size_t kDraftCooldown = 16;

}  // namespace

std::vector<TokenId> propose_ngram(const std::vector<TokenId>& tokens, size_t n_gram, size_t n_max) {
    if (n_gram == 0 || n_max == 0 || tokens.size() <= n_gram) return {};
    const auto pattern = tokens.end() - static_cast<std::ptrdiff_t>(n_gram);
    // An earlier occurrence may overlap the pattern, but is not the pattern itself.
    const auto found = std::find_end(tokens.begin(), tokens.end() - 1, pattern, tokens.end());
    if (found == tokens.end() - 1) return {};
    const auto           from = static_cast<size_t>(found - tokens.begin()) + n_gram;
    std::vector<TokenId> draft;
    for (size_t at = from; draft.size() < n_max; ++at) {
        // Past the end of the text the draft continues with its own tokens, as if the repetition went on.
        const TokenId next = at < tokens.size() ? tokens[at] : draft[at - tokens.size()];
        if (next < 0) break;  // an image
        draft.push_back(next);
    }
    return draft;
}

size_t DraftLength::next() {
    if (cooldown_ == 0) return std::min(length_, n_max_);
    --cooldown_;
    return 0;
}

void DraftLength::observe(size_t n_drafted, size_t n_accepted) {
    if (n_drafted == 0) return;
    if (n_accepted == n_drafted) {
        length_ = std::min(n_max_, 2 * length_);
    } else if (2 * n_accepted < n_drafted) {
        length_ = std::max<size_t>(1, length_ / 2);
        if (n_accepted == 0 && length_ == 1) {
            cooldown_ = kDraftCooldown;
            length_   = 4;
        }
    }
}

}  // namespace chasqui
