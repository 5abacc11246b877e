#include "reasoning-budget.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

// Maximum number of tokens of a character.
constexpr size_t kMaxCharacter = 4;

size_t longest(const std::vector<std::string>& words) {
    size_t length = 0;
    for (const std::string& word : words) length = std::max(length, word.size());
    return length;
}

}  // namespace

ReasoningBudget::ReasoningBudget(const ReasoningLimit& limit, ReasoningTokens tokens)
    : limit_(limit), tokens_(std::move(tokens)), head_(limit_.pairs), start_({limit.pairs.front().start}), end_({}) {
    at_start_ = std::none_of(limit_.pairs.begin(), limit_.pairs.end(), [this](const ReasoningPair& pair) {
        return limit_.prompt_end.find(pair.start) != std::string::npos;
    });
    if (const auto open = open_reasoning(limit_.prompt_end, limit_.pairs)) enter(*open);
}

std::optional<TokenId> ReasoningBudget::forced() const {
    if (state_ != State::closing) return std::nullopt;
    const std::vector<TokenId>& message = limit_.message;
    return n_tokens_ < message.size() ? message[n_tokens_] : closing()[n_tokens_ - message.size()];
}

void ReasoningBudget::refuse() {
    if (n_tokens_ >= limit_.message.size()) return leave();
    n_tokens_ = limit_.message.size();
}

void ReasoningBudget::end() {
    if (state_ != State::inside) return;
    max_tokens_ = std::min(max_tokens_, n_tokens_);
    close_if_spent();
}

void ReasoningBudget::accept(TokenId token) {
    if (state_ == State::closing) {
        if (++n_tokens_ == limit_.message.size() + closing().size()) leave();
        return;
    }
    const std::string piece = tokens_.spell(token);
    if (state_ == State::outside) {
        if (const auto pair = begins(token, piece)) enter(*pair);
        return;
    }
    if (end_.push(token, piece)) return leave();
    ++n_tokens_;
    text_.push(piece);
    close_if_spent();
}

std::optional<size_t> ReasoningBudget::begins(TokenId token, const std::string& piece) {
    if (const auto pair = at_start_ ? head_.push(piece) : std::nullopt) return pair;
    if (!tokens_.opening || !start_.push(token, piece)) return std::nullopt;
    const std::deque<TokenId>& recent = start_.recent();
    if (std::find(recent.begin(), recent.end(), *tokens_.opening) != recent.end()) return 0;
    start_.reset();
    return std::nullopt;
}

void ReasoningBudget::enter(size_t pair) {
    const std::vector<std::string>& ends = limit_.pairs[pair].ends;
    pair_     = pair;
    end_      = TriggerWords(ends);
    max_wait_ = longest(ends) + kMaxCharacter;
    state_    = State::inside;
    at_start_ = false;
    n_tokens_ = 0;
    max_tokens_ = limit_.max_tokens;
    text_     = {};
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
