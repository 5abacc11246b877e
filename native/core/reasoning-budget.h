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

// How a model writes the tags of its reasoning.
struct ReasoningTokens {
    std::vector<TokenId>   closing;  // the first closing tag; never empty
    std::optional<TokenId> opening;  // what the opening tag begins with, if that is a control token
    // The text of a token; of a control token its name.
    std::function<std::string(TokenId)> spell;
};

// Follows a completion and ends reasoning that takes too many tokens: from then on it tells, token by token, what has to
// be written until the reasoning is closed.
//
//   outside ──opening tag──▶ inside ──budget spent──▶ closing ──last token──▶ outside
//      ▲                       │
//      └──────closing tag──────┘
//
// A completion begins with its reasoning, or the prompt has opened it. Where the tag comes later, a text is about it,
// unless it begins with a control token: some models reason again between calls of tools, and then the new part has the
// whole budget. llama.cpp's sampler (common/reasoning-budget.h) does the same, but takes every tag for reasoning, and
// knows tags by their tokens only; here they are found in the text, as where completions are parsed, however they are
// tokenized.
//
// A character or a closing tag that the model is in the middle of is waited for, but not for long.
class ReasoningBudget {
public:
    ReasoningBudget(const ReasoningLimit& limit, ReasoningTokens tokens);

    // The only token that may come next; none: any.
    std::optional<TokenId> forced() const;
    // The completion cannot go on with the forced token: what is left of the message is not written or, if the token is
    // the tag's, the reasoning stays open.
    void refuse();
    // `token` becomes part of the completion. It is the forced one if there is one.
    void accept(TokenId token);

private:
    enum class State { outside, inside, closing };

    bool begins(TokenId token, const std::string& piece);
    void enter();
    void leave();
    void close_if_spent();

    ReasoningTokens      tokens_;
    std::string          tag_;        // that opens reasoning
    std::vector<TokenId> message_;
    size_t               max_tokens_, max_wait_;
    TriggerWords         start_, end_;
    State                state_    = State::outside;
    bool                 at_start_ = true;  // nothing but blanks and a part of the tag has been written
    std::string          head_;             // that part
    size_t               n_tokens_ = 0;     // inside, or of the message and the closing tag
    Utf8Buffer           text_;             // of the reasoning; holds the last character while it is incomplete
};

}  // namespace chasqui
