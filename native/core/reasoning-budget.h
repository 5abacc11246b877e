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
    std::vector<TokenId>   closing;  // the first closing tag; never empty
    std::optional<TokenId> opening;  // first token of the opening tag, if it is a control token
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

    // The only token that may come next; nullopt: any.
    std::optional<TokenId> forced() const;
    // The grammar refuses the forced token: drops the rest of the message or, if the token is part of the tag, leaves
    // the reasoning open.
    void refuse();
    // Appends `token` to the completion. It must be the forced one, if any.
    void accept(TokenId token);
    bool is_inside() const { return state_ != State::outside; }

private:
    enum class State { outside, inside, closing };

    bool begins(TokenId token, const std::string& piece);
    void enter();
    void leave();
    void close_if_spent();

    ReasoningTokens      tokens_;
    std::string          tag_;  // opening tag
    std::vector<TokenId> message_;
    size_t               max_tokens_, max_wait_;
    TriggerWords         start_, end_;
    State                state_    = State::outside;
    bool                 at_start_ = true;  // only whitespace and a part of the tag so far
    std::string          head_;             // that part
    size_t               n_tokens_ = 0;     // inside: of the reasoning; closing: written so far
    Utf8Buffer           text_;             // of the reasoning; holds an incomplete character
};

}  // namespace chasqui
