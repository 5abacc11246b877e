#include "check.h"

#include "core/reasoning-budget.h"
#include "core/sampler.h"
#include "core/sequence.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const std::vector<std::string> kPieces = {"<think>", "</think>", "a",   "\xC3", "\xA4", "</thi",
                                          "nk>x",    "<thi",     "nk>", "!",    "\n"};
enum : TokenId { open, close, word, half, other_half, close_half, close_rest, open_half, open_rest, message, blank };

// A budget for a vocabulary with the opening tag as a control token or as plain text.
std::shared_ptr<ReasoningBudget> budget_of(size_t max_tokens, const std::string& prompt_end = "", bool is_control = true) {
    const ReasoningLimit limit{{{"<think>", {"</think>", "<answer>"}}}, prompt_end, max_tokens, {message}};
    ReasoningTokens      tokens{{{close}}, {}, [](TokenId token) { return kPieces[static_cast<size_t>(token)]; }};
    if (is_control) tokens.opening = open;
    return std::make_shared<ReasoningBudget>(limit, std::move(tokens));
}

// The tokens of a completion that samples `wanted` whenever the budget allows it.
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

const Test ended("reasoning-budget: reasoning is ended on demand, and later reasoning has its whole budget", [] {
    const auto budget = budget_of(100);
    budget->end();
    expect_text(*budget, {open, word}, {open, word});
    budget->end();
    expect_text(*budget, {word}, {message, close, word});
    budget->end();
    expect_text(*budget, {open, word, word, close}, {open, word, word, close});
    const auto split = budget_of(100);
    expect_text(*split, {open, half}, {open, half});
    split->end();
    expect_text(*split, {other_half, word}, {other_half, message, close, word});
});

const Test usual("reasoning-budget: one of several tags begins a completion, and its own tag ends it", [] {
    const auto budget = [](const std::string& prompt_end) {
        const ReasoningLimit limit{{{"<think>", {"</think>"}}, {"a", {"!"}}}, prompt_end, 1, {}};
        return std::make_shared<ReasoningBudget>(
            limit, ReasoningTokens{{{close}, {message}}, {}, [](TokenId token) { return kPieces[static_cast<size_t>(token)]; }});
    };
    expect_text(*budget(""), {blank, word, close, word, open, word}, {blank, word, close, message, word, open, word});
    expect_text(*budget(""), {open_half, open_rest, word, word}, {open_half, open_rest, word, close, word});
    expect_text(*budget("<think>b</think>b"), {word, word, word}, {word, word, word});
    expect_text(*budget("b a"), {close, word}, {close, message, word});
});

const Test of_prompt("reasoning-budget: what the prompt leaves open counts from the completion's first token", [] {
    expect_text(*budget_of(2, "<think>\nSo far"), {word, word, word}, {word, word, message, close, word});
    expect_text(*budget_of(2, "<think>\n</think>\n"), {word, word, word}, {word, word, word});
    expect_text(*budget_of(2, "<think>\n<answer>"), {word, word, word}, {word, word, word});
    expect_text(*budget_of(1, "<think></think><think>"), {word, word}, {word, message, close, word});
});

const Test mentions("reasoning-budget: a tag within a text opens reasoning only if it is a control token", [] {
    expect_text(*budget_of(0, "", false), {word, open, word, word}, {word, open, word, word});
    expect_text(*budget_of(0, "", false), {blank, open, word}, {blank, open, message, close, word});
    expect_text(*budget_of(0, "", false), {open, word, open, word}, {open, message, close, word, open, word});
    expect_text(*budget_of(0, "<think></think>", false), {open, word}, {open, word});
    // Spelled with other tokens it is no control token.
    expect_text(*budget_of(0), {word, open_half, open_rest, word}, {word, open_half, open_rest, word});
});

const Test in_pieces("reasoning-budget: tags are found however they are tokenized", [] {
    expect_text(*budget_of(3), {open_half, open_rest, word, close_half, close_rest, word, word, word},
                {open_half, open_rest, word, close_half, close_rest, word, word, word});
    expect_text(*budget_of(1), {open_half, open_rest, word, word}, {open_half, open_rest, word, message, close, word});
});

const Test characters("reasoning-budget: a character is completed before reasoning is ended", [] {
    expect_text(*budget_of(1), {open, half, other_half, word}, {open, half, other_half, message, close, word});
});

const Test within_tag("reasoning-budget: a closing tag that the model has begun is waited for", [] {
    expect_text(*budget_of(2), {open, word, close_half, close_rest, word}, {open, word, close_half, close_rest, word});
    expect_text(*budget_of(2), {open, word, close_half, word, word},
                {open, word, close_half, word, message, close, word});
});

const Test endless("reasoning-budget: what never ends is not waited for without end", [] {
    for (const TokenId part : {half, close_half}) {
        const std::vector<TokenId> text = complete(*budget_of(2, "<think>"), std::vector<TokenId>(40, part));
        const auto                 end  = std::find(text.begin(), text.end(), close);
        expect(end != text.end() && end - text.begin() < 2 + 8 + 4 + 2, "an end soon");
    }
});

const Test long_budget("reasoning-budget: the largest budget ends nothing", [] {
    const std::vector<TokenId> wanted(1000, word);
    expect_text(*budget_of(UINT32_MAX, "<think>"), wanted, wanted);
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
    const auto wordless = std::make_shared<Only>(std::vector<TokenId>{word, close});
    Sampler    closing(greedy(), wordless, budget_of(2, "<think>"));
    expect(sample(closing, 5) == std::vector<TokenId>{word, word, close, word, word}, "another text");
});

const Test preempted("reasoning-budget: a sequence that gave up its slot goes on where it was", [] {
    Job job;
    job.prompt           = {word};
    job.sampling         = greedy();
    job.reasoning_budget = budget_of(2, "<think>");
    Sequence           sequence(std::move(job));
    std::vector<float> logits(kPieces.size(), 0.0f);
    logits[word] = 9;
    for (int i = 0; i < 6; ++i) {
        sequence.admit(0, 0, {});
        const TokenId token = sequence.sampler->sample(logits.data(), static_cast<int32_t>(logits.size()));
        sequence.sampler->accept(token);
        sequence.accept(token, kPieces[static_cast<size_t>(token)], false, 100);
        sequence.preempt();
    }
    expect(sequence.tokens == std::vector<TokenId>{word, word, word, message, close, word, word}, "another text");
});

const Test cut_short("reasoning-budget: a completion may end within its message, by its limit or the context's", [] {
    for (const auto& [max_tokens, context_length] : {std::pair(3, 100), std::pair(-1, 4)}) {
        Job job;
        job.prompt           = {word};
        job.max_tokens       = max_tokens;
        job.sampling         = greedy();
        job.reasoning_budget = budget_of(2, "<think>");
        Sequence           sequence(std::move(job));
        std::vector<float> logits(kPieces.size(), 0.0f);
        logits[word] = 9;
        while (!is_over(sequence.status)) {
            const TokenId token = sequence.sampler->sample(logits.data(), static_cast<int32_t>(logits.size()));
            sequence.sampler->accept(token);
            sequence.accept(token, kPieces[static_cast<size_t>(token)], false, static_cast<size_t>(context_length));
        }
        expect(sequence.status == SequenceStatus::length_reached, "that the length ends it");
        expect(sequence.tokens == std::vector<TokenId>{word, word, word, message}, "another text");
    }
});

}  // namespace
