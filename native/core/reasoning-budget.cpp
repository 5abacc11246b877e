#include "reasoning-budget.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

// Whether a prompt with this end leaves reasoning open.
bool is_open(const ReasoningLimit& limit) {
    const size_t start = limit.prompt_end.rfind(limit.start);
    if (start == std::string::npos) return false;
    return std::none_of(limit.ends.begin(), limit.ends.end(), [&](const std::string& end) {
        return limit.prompt_end.find(end, start + limit.start.size()) != std::string::npos;
    });
}

}  // namespace

ReasoningBudget::ReasoningBudget(const ReasoningLimit& limit, std::vector<TokenId> closing, Spell spell)
    : spell_(std::move(spell)),
      start_({limit.start}),
      end_(limit.ends),
      closing_(std::move(closing)),
      max_tokens_(limit.max_tokens) {
    if (is_open(limit)) enter();
}

std::optional<TokenId> ReasoningBudget::forced() const {
    if (state_ != State::closing) return std::nullopt;
    return closing_[n_tokens_];
}

void ReasoningBudget::accept(TokenId token) {
    if (state_ == State::closing) {
        if (++n_tokens_ == closing_.size()) leave();
        return;
    }
    const std::string piece = spell_(token);
    if (state_ == State::outside) {
        if (start_.push(token, piece)) enter();
        return;
    }
    if (end_.push(token, piece)) return leave();
    ++n_tokens_;
    text_.push(piece);
    close_if_spent();
}

void ReasoningBudget::enter() {
    state_    = State::inside;
    n_tokens_ = 0;
    text_     = {};
    end_.reset();
    close_if_spent();
}

void ReasoningBudget::leave() {
    state_ = State::outside;
    start_.reset();
}

void ReasoningBudget::close_if_spent() {
    if (n_tokens_ < max_tokens_ || text_.is_holding()) return;
    state_    = State::closing;
    n_tokens_ = 0;
}

}  // namespace chasqui
