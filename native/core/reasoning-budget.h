// Thread: one at a time; budgets of different sequences are independent.
#pragma once

#include "job.h"
#include "trigger-words.h"
#include "utf8-buffer.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chasqui {

// The tokens of a model's reasoning tags.
struct ReasoningTokens {
    std::vector<std::vector<TokenId>> closing;  // the first closing tag of each pair; never empty
    // First token of the opening tag, if there is only one pair and it is a control token.
    std::optional<TokenId> opening;
    // The text of a token; for a control token, its name.
    std::function<std::string(TokenId)> spell;
};

// Follows a completion and ends reasoning that exceeds its budget: forced() then returns, token by token, the message
// and the closing tag.
//
//   outside ──opening tag──▶ inside ──budget spent──▶ closing ──last token──▶ outside
//      ▲                       │
//      └──────closing tag──────┘
//
// Reasoning starts at the beginning of a completion or in the prompt. A later opening tag is ordinary text, unless it
// starts with a control token: some models reason again between tool calls, and the budget is then reset.
// llama.cpp's sampler (common/reasoning-budget.h) accepts every tag and recognises tags only by their tokens. Here tags
// are found in the text, however they are tokenized, like in the chat parser.
//
// Before closing, waits a few tokens for the end of an incomplete character or closing tag.
class ReasoningBudget {
public:
    ReasoningBudget(const ReasoningLimit& limit, ReasoningTokens tokens);
    ReasoningBudget(const ReasoningBudget&)            = delete;
    ReasoningBudget& operator=(const ReasoningBudget&) = delete;

    // The only token that may come next; nullopt: any.
    std::optional<TokenId> forced() const;
    // The grammar refuses the forced token: drops the rest of the message or, if the token is part of the tag, leaves
    // the reasoning open.
    void refuse();
    // Ends the reasoning as if its budget were spent. Without effect outside of reasoning.
    void end();
    // Appends `token` to the completion. It must be the forced one, if any.
    void accept(TokenId token);
    bool is_inside() const { return state_ != State::outside; }

private:
    enum class State { outside, inside, closing };

    std::optional<size_t> begins(TokenId token, const std::string& piece);
    void enter(size_t pair);
    void leave();
    void close_if_spent();

    const std::vector<TokenId>& closing() const { return tokens_.closing[pair_]; }

    const ReasoningLimit limit_;
    ReasoningTokens      tokens_;
    ReasoningStart       head_;
    TriggerWords         start_, end_;
    size_t               pair_     = 0;  // of the last reasoning
    size_t               max_wait_ = 0;
    size_t               max_tokens_ = 0;  // inside: of the reasoning
    State                state_    = State::outside;
    bool                 at_start_;  // no opening tag yet
    size_t               n_tokens_ = 0;  // inside: of the reasoning; closing: written so far
    Utf8Buffer           text_;          // of the reasoning; holds an incomplete character
};

}  // namespace chasqui
