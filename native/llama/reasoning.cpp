#include "reasoning.h"

#include <vector>

namespace chasqui {

std::shared_ptr<ReasoningBudget> reasoning_budget(const ReasoningLimit& limit, const Tokenizer& tokenizer) {
    // Apart, because a tag is a token of its own in most vocabularies.
    std::vector<TokenId>       closing = tokenizer.tokenize(limit.message, false, false);
    const std::vector<TokenId> tag     = tokenizer.tokenize(limit.ends.front(), false, true);
    closing.insert(closing.end(), tag.begin(), tag.end());
    if (closing.empty()) return nullptr;  // the vocabulary cannot write the tag
    return std::make_shared<ReasoningBudget>(limit, std::move(closing),
                                             [&tokenizer](TokenId token) { return tokenizer.spelled(token); });
}

}  // namespace chasqui
