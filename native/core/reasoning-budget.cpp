#include "reasoning-budget.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

constexpr const char* kBlanks = " \t\r\n";
// Maximum number of tokens of a character.
constexpr size_t kMaxCharacter = 4;

// Whether a prompt with this end leaves reasoning open.
bool is_open(const ReasoningLimit& limit) {
    const size_t start = limit.prompt_end.rfind(limit.start);
    if (start == std::string::npos) return false;
    return std::none_of(limit.ends.begin(), limit.ends.end(), [&](const std::string& end) {
        return limit.prompt_end.find(end, start + limit.start.size()) != std::string::npos;
    });
}

size_t longest(const std::vector<std::string>& words) {
    size_t length = 0;
    for (const std::string& word : words) length = std::max(length, word.size());
    return length;
}

}  // namespace

ReasoningBudget::ReasoningBudget(const ReasoningLimit& limit, ReasoningTokens tokens)
    : tokens_(std::move(tokens)),
      tag_(limit.start),
      message_(limit.message),
      max_tokens_(limit.max_tokens),
      max_wait_(longest(limit.ends) + kMaxCharacter),
      start_({limit.start}),
      end_(limit.ends),
      at_start_(limit.prompt_end.find(limit.start) == std::string::npos) {
    if (is_open(limit)) enter();
}

std::optional<TokenId> ReasoningBudget::forced() const {
    if (state_ != State::closing) return std::nullopt;
    return n_tokens_ < message_.size() ? message_[n_tokens_] : tokens_.closing[n_tokens_ - message_.size()];
}

void ReasoningBudget::refuse() {
    if (n_tokens_ >= message_.size()) return leave();
    n_tokens_ = message_.size();
}

void ReasoningBudget::accept(TokenId token) {
    if (state_ == State::closing) {
        if (++n_tokens_ == message_.size() + tokens_.closing.size()) leave();
        return;
    }
    const std::string piece = tokens_.spell(token);
    if (state_ == State::outside) {
        if (begins(token, piece)) enter();
        return;
    }
    if (end_.push(token, piece)) return leave();
    ++n_tokens_;
    text_.push(piece);
    close_if_spent();
}

bool ReasoningBudget::begins(TokenId token, const std::string& piece) {
    const bool has_tag = start_.push(token, piece);
    if (at_start_) {
        head_ += piece;
        head_.erase(0, head_.find_first_not_of(kBlanks));
        if (head_.compare(0, tag_.size(), tag_) == 0) return true;
        at_start_ = tag_.compare(0, head_.size(), head_) == 0;
    }
    if (!has_tag) return false;
    const std::deque<TokenId>& recent = start_.recent();
    const bool is_control = tokens_.opening && std::find(recent.begin(), recent.end(), *tokens_.opening) != recent.end();
    if (!is_control) start_.reset();
    return is_control;
}

void ReasoningBudget::enter() {
    state_    = State::inside;
    at_start_ = false;
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
    if (n_tokens_ < max_tokens_) return;
    const bool is_within = text_.is_holding() || end_.ends_within_word();
    if (is_within && n_tokens_ - max_tokens_ < max_wait_) return;
    state_    = State::closing;
    n_tokens_ = 0;
}

}  // namespace chasqui
