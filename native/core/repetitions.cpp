#include "repetitions.h"

#include <algorithm>
#include <unordered_map>

namespace chasqui {

bool Repetitions::is_on(const SamplingSettings& settings) {
    return settings.dry_multiplier != 0.0f && settings.dry_base >= 1.0f && settings.dry_penalty_last_n != 0;
}

Repetitions::Repetitions(const SamplingSettings& settings)
    : is_on_(is_on(settings)),
      allowed_length_(settings.dry_allowed_length),
      last_n_(settings.dry_penalty_last_n),
      breakers_(settings.dry_breakers) {}

void Repetitions::accept(TokenId token) {
    if (!is_on_) return;
    text_.push_back(token);
    if (last_n_ < 0) return;
    // Old tokens are removed rarely, because the others have to be moved.
    const auto n_used = static_cast<size_t>(last_n_);
    if (text_.size() >= 2 * n_used + 64) text_.erase(text_.begin(), text_.end() - static_cast<ptrdiff_t>(n_used));
}

// The Z algorithm from the end of the text: `matches[k]` is the number of equal tokens when reading backwards from the
// k-th last token and from the last one. The box is the match that reaches furthest so far; results within it are
// reused, so no token is compared twice.
std::vector<std::pair<TokenId, int>> Repetitions::find() const {
    const auto allowed = static_cast<size_t>(allowed_length_);
    size_t     n_used  = text_.size();
    if (last_n_ >= 0) n_used = std::min(n_used, static_cast<size_t>(last_n_));
    if (n_used <= allowed) return {};
    const size_t limit = length_since_breaker(n_used);
    if (limit < allowed) return {};

    std::vector<size_t>              matches(n_used, 0);
    std::unordered_map<TokenId, int> longest;
    size_t                           box_begin = 0, box_end = 0;
    for (size_t k = 1; k < n_used; ++k) {
        size_t length = k < box_end ? std::min(matches[k - box_begin], box_end - k) : 0;
        while (k + length < n_used && from_end(length) == from_end(k + length)) ++length;
        matches[k] = length;
        if (k + length > box_end) {
            box_begin = k;
            box_end   = k + length;
        }
        length = std::min(length, limit);
        if (length < allowed) continue;
        int& of_token = longest.emplace(from_end(k - 1), 0).first->second;
        of_token      = std::max(of_token, static_cast<int>(length));
    }
    std::vector<std::pair<TokenId, int>> found;
    for (const auto& [token, length] : longest) {
        if (!is_breaker(token)) found.emplace_back(token, length);
    }
    return found;
}

// How many of the last `n_tokens` come after the last breaker. A breaker counts from where it begins.
size_t Repetitions::length_since_breaker(size_t n_tokens) const {
    if (!breakers_) return n_tokens;
    for (size_t i = 0; i < n_tokens; ++i) {
        const auto found   = breakers_->tails.find(from_end(i));
        bool       is_one  = is_breaker(from_end(i));
        size_t     longest = 0;
        if (found != breakers_->tails.end()) {
            for (const std::vector<TokenId>& tail : found->second) {
                if (!follows(tail, i)) continue;
                is_one  = true;
                longest = std::max(longest, tail.size());
            }
        }
        if (is_one) return i - longest;
    }
    return n_tokens;
}

// Whether the tokens of `tail` follow the one with this index.
bool Repetitions::follows(const std::vector<TokenId>& tail, size_t index) const {
    if (tail.size() > index) return false;
    for (size_t at = 0; at < tail.size(); ++at) {
        if (tail[at] != from_end(index - at - 1)) return false;
    }
    return true;
}

bool Repetitions::is_breaker(TokenId token) const {
    if (!breakers_ || token < 0) return false;
    const std::vector<bool>& complete = breakers_->complete;
    return static_cast<size_t>(token) < complete.size() && complete[static_cast<size_t>(token)];
}

}  // namespace chasqui
