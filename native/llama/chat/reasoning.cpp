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
    for (const ReasoningPair& pair : limit.pairs) {
        tokens.closing.push_back(tokenizer.tokenize(pair.ends.front(), false, true));
        if (tokens.closing.back().empty()) return nullptr;
    }
    const std::vector<TokenId> start = tokenizer.tokenize(limit.pairs.front().start, false, true);
    const bool has_control = limit.pairs.size() == 1 && !start.empty() && is_control(tokenizer, start.front());
    if (has_control) tokens.opening = start.front();
    tokens.spell = [&tokenizer](TokenId token) { return tokenizer.spelled(token); };
    return std::make_shared<ReasoningBudget>(limit, std::move(tokens));
}

void detect_reasoning(RenderedPrompt& rendered, const std::string& generation_prompt) {
    const std::vector<ReasoningPair>& pairs = usual_reasoning_pairs();
    rendered.reasoning = ReasoningTags{pairs[0].start, pairs[0].ends, generation_prompt, true};
    if (rendered.grammar) rendered.grammar->detects_reasoning = true;
    if (!rendered.format) rendered.format.emplace();
    rendered.format->generation_prompt = generation_prompt;
    rendered.format->detects_reasoning = true;
    for (const ReasoningPair& pair : pairs) {
        rendered.preserved_tokens.push_back(pair.start);
        rendered.preserved_tokens.insert(rendered.preserved_tokens.end(), pair.ends.begin(), pair.ends.end());
    }
}

}  // namespace chasqui
