#include "check.h"

#include "core/reasoning-budget.h"
#include "core/sampler.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const std::vector<std::string> kPieces = {"<think>", "</think>", "a", "\xC3", "\xA4", "</thi", "nk>x", "<thi", "nk>", "!"};
enum : TokenId { open, close, word, half, other_half, close_half, close_rest, open_half, open_rest, message };

std::shared_ptr<ReasoningBudget> budget_of(size_t max_tokens, const std::string& prompt_end = "") {
    ReasoningLimit limit{"<think>", {"</think>", "<answer>"}, prompt_end, max_tokens, "!"};
    return std::make_shared<ReasoningBudget>(limit, std::vector<TokenId>{message, close},
                                             [](TokenId token) { return kPieces[static_cast<size_t>(token)]; });
}

// The tokens of a completion that goes on with `wanted` wherever it may.
std::vector<TokenId> complete(ReasoningBudget& budget, const std::vector<TokenId>& wanted) {
    std::vector<TokenId> text;
    for (size_t next = 0; next < wanted.size() || budget.forced();) {
        text.push_back(budget.forced() ? *budget.forced() : wanted[next++]);
        budget.accept(text.back());
    }
    return text;
}

void expect_text(ReasoningBudget& budget, const std::vector<TokenId>& wanted, const std::vector<TokenId>& expected) {
    expect(complete(budget, wanted) == expected, "another text");
}

const Test spent("reasoning-budget: reasoning is ended after its tokens, and each part has the whole budget", [] {
    expect_text(*budget_of(2), {word, word, word, open, word, word, word, open, word, close, word},
                {word, word, word, open, word, word, message, close, word, open, word, close, word});
});

const Test natural("reasoning-budget: reasoning that ends in time is left alone, also with its last token", [] {
    expect_text(*budget_of(2), {open, word, close, word, word}, {open, word, close, word, word});
    expect_text(*budget_of(2), {open, word, word, close}, {open, word, word, message, close, close});
});

const Test none("reasoning-budget: without tokens it is ended where it begins", [] {
    expect_text(*budget_of(0), {word, open, word}, {word, open, message, close, word});
    expect_text(*budget_of(0, "x<think>\n"), {word, word}, {message, close, word, word});
});

const Test of_prompt("reasoning-budget: what the prompt leaves open counts from the completion's first token", [] {
    expect_text(*budget_of(2, "<think>\nSo far"), {word, word, word}, {word, word, message, close, word});
    expect_text(*budget_of(2, "<think>\n</think>\n"), {word, word, word}, {word, word, word});
    expect_text(*budget_of(2, "<think>\n<answer>"), {word, word, word}, {word, word, word});
    expect_text(*budget_of(1, "<think></think><think>"), {word, word}, {word, message, close, word});
});

const Test in_pieces("reasoning-budget: tags are found however they are tokenized", [] {
    expect_text(*budget_of(3), {open_half, open_rest, word, close_half, close_rest, word, word, word},
                {open_half, open_rest, word, close_half, close_rest, word, word, word});
    expect_text(*budget_of(1), {open_half, open_rest, word, word}, {open_half, open_rest, word, message, close, word});
});

const Test characters("reasoning-budget: a character is completed before reasoning is ended", [] {
    expect_text(*budget_of(1), {open, half, other_half, word}, {open, half, other_half, message, close, word});
});

// Allows what it is told to.
class Only final : public TokenConstraint {
public:
    explicit Only(std::vector<TokenId> tokens) : tokens_(std::move(tokens)) {}
    bool allows(TokenId token) override { return std::count(tokens_.begin(), tokens_.end(), token) > 0; }
    void filter(std::vector<TokenId>& tokens) override {
        const auto is_refused = [this](TokenId token) { return !allows(token); };
        tokens.erase(std::remove_if(tokens.begin(), tokens.end(), is_refused), tokens.end());
    }
    std::vector<TokenId> allowed() override { return tokens_; }
    void                 accept(TokenId) override {}

private:
    std::vector<TokenId> tokens_;
};

std::vector<TokenId> sample(Sampler& sampler, size_t n) {
    // The model likes `word` best.
    std::vector<float> logits(kPieces.size(), 0.0f);
    logits[word] = 9;
    std::vector<TokenId> text;
    while (text.size() < n) {
        text.push_back(sampler.sample(logits.data(), static_cast<int32_t>(logits.size())));
        sampler.accept(text.back());
    }
    return text;
}

SamplingSettings greedy() {
    SamplingSettings settings;
    settings.temperature = 0;
    return settings;
}

const Test sampled("reasoning-budget: the sampler takes what ends the reasoning, whatever the logits and biases are", [] {
    SamplingSettings settings = greedy();
    settings.logit_bias.push_back({close, -1e9f});
    Sampler sampler(settings, nullptr, budget_of(2, "<think>"));
    expect(sample(sampler, 6) == std::vector<TokenId>{word, word, message, close, word, word}, "another text");
});

const Test random_state("reasoning-budget: equal seeds draw equal tokens where it does not apply", [] {
    SamplingSettings settings;
    settings.seed = 3;
    Sampler limited(settings, nullptr, budget_of(100)), free(settings);
    expect(sample(limited, 50) == sample(free, 50), "other tokens");
});

const Test beside_grammar("reasoning-budget: a grammar that forbids the closing tag goes before it", [] {
    const auto constraint = std::make_shared<Only>(std::vector<TokenId>{word, open});
    Sampler    sampler(greedy(), constraint, budget_of(2, "<think>"));
    expect(sample(sampler, 5) == std::vector<TokenId>{word, word, word, word, word}, "another text");
    const auto lenient = std::make_shared<Only>(std::vector<TokenId>{word, message, close});
    Sampler    obeying(greedy(), lenient, budget_of(2, "<think>"));
    expect(sample(obeying, 5) == std::vector<TokenId>{word, word, message, close, word}, "another text");
});

}  // namespace
