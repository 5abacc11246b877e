#include "grammar-draft.h"

#include <algorithm>
#include <utility>

namespace chasqui {

void GrammarDraft::catch_up(const std::vector<TokenId>& tokens) {
    bool was_right = true;
    for (size_t i = 0; was_right && i < next_.size() && n_tokens_ + i < tokens.size(); ++i) {
        was_right   = tokens[n_tokens_ + i] == next_[i];
        double& own = is_last(i) ? last_rate_ : rate_;
        own += kNewestWeight * ((was_right ? 1.0 : 0.0) - own);
    }
    next_.clear();
}

void GrammarDraft::propose(std::vector<TokenId> next, size_t n_tokens) {
    next_     = std::move(next);
    n_tokens_ = n_tokens;
}

std::vector<double> GrammarDraft::expected_hits(size_t n_max) const {
    std::vector<double> expected;
    double              all_right = 1, sum = 0;
    for (size_t i = 0; i < std::min(n_max, next_.size()); ++i) {
        all_right *= rate(i);
        sum += all_right;
        expected.push_back(sum);
    }
    return expected;
}

}  // namespace chasqui
