#include "prompt-lookup.h"

#include <algorithm>

namespace chasqui {

namespace {

// Initial number of buckets, a power of two.
constexpr size_t kMinBuckets = 256;
// The shortest matches of each class except the first.
constexpr size_t kClassStarts[] = {4, 6, 9, 17};
// Steps without drafts after rejected drafts have shrunk to one token.
constexpr size_t kDraftCooldown = 16;

// How many tokens before `a` and `b` are equal, at most `n_max`. Image tokens are never equal.
size_t common_suffix(const std::vector<TokenId>& tokens, size_t a, size_t b, size_t n_max) {
    size_t n = 0;
    n_max    = std::min({n_max, a, b});
    while (n < n_max && tokens[a - n - 1] == tokens[b - n - 1] && tokens[a - n - 1] >= 0) ++n;
    return n;
}

}  // namespace

HitRates HitRates::for_sequence(double newest_weight) const {
    HitRates own       = *this;
    own.newest_weight_ = newest_weight;
    return own;
}

void HitRates::observe(size_t match_length, bool was_right) {
    double& rate = rates_[class_of(match_length)];
    rate += newest_weight_ * ((was_right ? 1.0 : 0.0) - rate);
}

size_t HitRates::class_of(size_t match_length) {
    const auto next = std::upper_bound(std::begin(kClassStarts), std::end(kClassStarts), match_length);
    return static_cast<size_t>(next - std::begin(kClassStarts));
}

void PromptLookup::catch_up(const std::vector<TokenId>& tokens, size_t n_prompt, HitRates& everywhere) {
    if (!has_rates_) rates_ = everywhere.for_sequence(kNewestWeight);
    has_rates_ = true;
    if (latest_.size() < tokens.size()) grow(tokens);
    while (earlier_.size() < tokens.size()) add(tokens, n_prompt, everywhere);
}

// Adds the next token: updates the rates and the match, and looks for a longer match.
void PromptLookup::add(const std::vector<TokenId>& tokens, size_t n_prompt, HitRates& everywhere) {
    const size_t at = earlier_.size(), end = at + 1;
    // No match is needed within the prompt: nothing is drafted there, and it may be long.
    if (end < n_prompt) return insert(tokens, end);
    Match match;
    if (match_.length > 0) {
        const bool was_right = tokens[match_.from] == tokens[at] && tokens[at] >= 0;
        if (at >= n_prompt) {
            rates_.observe(match_.length, was_right);
            everywhere.observe(match_.length, was_right);
        }
        if (was_right) match = {std::min(match_.length + 1, kMaxMatch), match_.from + 1};
    }
    find_longer(tokens, end, match);
    match_ = match;
    insert(tokens, end);
}

void PromptLookup::find_longer(const std::vector<TokenId>& tokens, size_t end, Match& match) const {
    if (end < kMinMatch || match.length == kMaxMatch) return;
    size_t from = latest_[bucket(tokens, end)];
    for (size_t n = 0; from != 0 && n < kMaxCandidates; ++n, from = earlier_[from - 1]) {
        const size_t length = common_suffix(tokens, from, end, kMaxMatch);
        if (length >= kMinMatch && length > match.length) match = {length, from};
    }
}

// Inserts the position after the first `end` tokens.
void PromptLookup::insert(const std::vector<TokenId>& tokens, size_t end) {
    if (end < kMinMatch) return earlier_.push_back(0);
    uint32_t& latest = latest_[bucket(tokens, end)];
    earlier_.push_back(latest);
    latest = static_cast<uint32_t>(end);
}

// Doubles the number of buckets, so each token moves at most twice in the long run.
void PromptLookup::grow(const std::vector<TokenId>& tokens) {
    size_t n_buckets = std::max(kMinBuckets, latest_.size());
    while (n_buckets < tokens.size()) n_buckets *= 2;
    const size_t n_known = earlier_.size();
    latest_.assign(n_buckets, 0);
    earlier_.clear();
    for (size_t end = 1; end <= n_known; ++end) insert(tokens, end);
}

size_t PromptLookup::bucket(const std::vector<TokenId>& tokens, size_t end) const {
    uint64_t hash = 0;
    for (size_t i = end - kMinMatch; i < end; ++i) {
        hash = (hash ^ static_cast<uint32_t>(tokens[i])) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 32;
    }
    return hash & (latest_.size() - 1);
}

std::vector<TokenId> PromptLookup::propose(const std::vector<TokenId>& tokens, size_t n_max) const {
    std::vector<TokenId> draft;
    if (match_.length == 0) return draft;
    for (size_t at = match_.from; draft.size() < n_max; ++at) {
        const TokenId next = at < tokens.size() ? tokens[at] : draft[at - tokens.size()];
        if (next < 0) break;  // an image
        draft.push_back(next);
    }
    return draft;
}

// A token can only be right if all before it are, and each one makes the match longer.
std::vector<double> PromptLookup::expected_hits(size_t n_max) const {
    std::vector<double> expected;
    if (match_.length == 0) return expected;
    double all_right = 1, sum = 0;
    for (size_t n = 0; n < n_max; ++n) {
        all_right *= rates_.of(match_.length + n);
        sum += all_right;
        expected.push_back(sum);
    }
    return expected;
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
