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

// Follows a completion and ends reasoning that takes too many tokens: from then on it tells, token by token, what has to
// be written until the reasoning is closed.
//
//   outside ──opening tag──▶ inside ──budget spent──▶ closing ──last token──▶ outside
//      ▲                       │
//      └──────closing tag──────┘
//
// Each part of reasoning has the whole budget: some models reason again after a call of a tool. A character that takes
// several tokens is completed first. llama.cpp's sampler (common/reasoning-budget.h) does the same, but knows tags by
// their tokens only; here they are found in the text, as where completions are parsed, however they are tokenized.
class ReasoningBudget {
public:
    // The text of a token; of a control token its name.
    using Spell = std::function<std::string(TokenId)>;

    // `closing`: the limit's message and closing tag as tokens, which are never none.
    ReasoningBudget(const ReasoningLimit& limit, std::vector<TokenId> closing, Spell spell);

    // The only token that may come next; none: any.
    std::optional<TokenId> forced() const;
    // `token` becomes part of the completion. It is the forced one if there is one.
    void accept(TokenId token);
    // What is open stays open. For completions that cannot go on with the forced token.
    void give_up() { leave(); }

private:
    enum class State { outside, inside, closing };

    void enter();
    void leave();
    void close_if_spent();

    Spell                spell_;
    TriggerWords         start_, end_;
    std::vector<TokenId> closing_;
    size_t               max_tokens_;
    State                state_    = State::outside;
    size_t               n_tokens_ = 0;  // inside, or of `closing_`
    Utf8Buffer           text_;          // of the reasoning; holds the last character while it is incomplete
};

}  // namespace chasqui
