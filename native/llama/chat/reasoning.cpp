#include "reasoning.h"

#include <optional>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

// Control tokens are never the result of tokenizing text.
bool is_control(const Tokenizer& tokenizer, TokenId token) {
    return tokenizer.piece(token).empty() && !tokenizer.spelled(token).empty();
}

}  // namespace

std::shared_ptr<ReasoningBudget> reasoning_budget(const ReasoningLimit& limit, const Tokenizer& tokenizer) {
    ReasoningTokens tokens;
    tokens.closing = tokenizer.tokenize(limit.ends.front(), false, true);
    if (tokens.closing.empty()) return nullptr;
    const std::vector<TokenId> start = tokenizer.tokenize(limit.start, false, true);
    if (!start.empty() && is_control(tokenizer, start.front())) tokens.opening = start.front();
    tokens.spell = [&tokenizer](TokenId token) { return tokenizer.spelled(token); };
    return std::make_shared<ReasoningBudget>(limit, std::move(tokens));
}

}  // namespace chasqui
