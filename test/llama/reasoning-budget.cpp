// What limits reasoning, beside llama.cpp's sampler for it, and with the tags of real templates.
#include "../native/check.h"
#include "chat-templates.h"
#include "vocabulary.h"

#include "core/utf8-buffer.h"
#include "llama/chat-template.h"
#include "llama/reasoning.h"

#include <log.h>
#include <reasoning-budget.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

struct FreeSampler {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};

// The token that llama.cpp's sampler forces; -1: none.
TokenId forced_by(llama_sampler* sampler, int32_t n_vocab) {
    std::vector<llama_token_data> candidates;
    for (TokenId token = 0; token < n_vocab; ++token) candidates.push_back({token, 1.0f, 0.0f});
    llama_token_data_array array{candidates.data(), candidates.size(), -1, false};
    llama_sampler_apply(sampler, &array);
    TokenId only = -1;
    size_t  n    = 0;
    for (const llama_token_data& each : candidates) {
        if (std::isinf(each.logit)) continue;
        only = each.id;
        ++n;
    }
    return n == 1 ? only : -1;
}

const Test parity("reasoning-budget: forces the tokens that llama.cpp's sampler forces", [] {
    const llama_vocab* vocab = vocabulary("qwen2");
    const Tokenizer    tokenizer(vocab);
    // Tags that are tokens of their own there.
    const std::string          start = "<|im_start|>", end = "<|im_end|>";
    const TokenId              start_token = tokenizer.tokenize(start, false, true).at(0);
    const TokenId              end_token   = tokenizer.tokenize(end, false, true).at(0);
    const std::vector<TokenId> message     = tokenizer.tokenize(" So, to answer:", false, false);
    std::vector<TokenId>       closing     = message;
    expect(closing.size() > 2, "a message of several tokens");
    closing.push_back(end_token);

    std::mt19937 random(11);
    size_t       n_forced = 0;
    // The two differ where characters and tags are in parts: llama.cpp looks at the last token alone.
    const auto any_token = [&] {
        for (;;) {
            const auto token = static_cast<TokenId>(random() % 50'000);
            const std::string text = tokenizer.spelled(token);
            if (is_valid_utf8(text) && text.find('<') == std::string::npos) return token;
        }
    };
    for (size_t max_tokens = 0; max_tokens < 6; ++max_tokens) {
        const auto budget = reasoning_budget({start, {end}, "", max_tokens, message}, tokenizer);
        const std::unique_ptr<llama_sampler, FreeSampler> theirs(common_reasoning_budget_init(
            vocab, {{start_token}}, {{end_token}}, closing, static_cast<int32_t>(max_tokens)));
        for (int i = 0; i < 400; ++i) {
            const TokenId expected = i % 4 == 0 || budget->forced() ? forced_by(theirs.get(), tokenizer.vocabulary_size()) : -1;
            expect_equal(budget->forced().value_or(-1), expected);
            const size_t  choice = random() % 8;
            const TokenId drawn  = choice == 0 ? start_token : choice == 1 ? end_token : any_token();
            const TokenId token  = budget->forced().value_or(drawn);
            n_forced += budget->forced() ? 1 : 0;
            budget->accept(token);
            llama_sampler_accept(theirs.get(), token);
        }
    }
    expect(n_forced > 100, "many forced tokens");
});

const Test tags("reasoning-budget: templates with reasoning say between which tags it stands", [] {
    common_log_pause(common_log_main());
    const auto reasoning_of = [](const std::string& name, const std::string& more) {
        const ChatTemplate chat(source_of(name));
        return chat.render(R"({"messages": [{"role": "user", "content": "Hi"}])" + more + "}").reasoning;
    };
    const auto open = reasoning_of("Qwen-QwQ-32B", "");
    expect(open.has_value(), "tags of QwQ");
    expect_equal(open->start, "<think>");
    expect_equal(open->ends.at(0), "</think>");
    expect(open->prompt_end.find("<think>") != std::string::npos, "reasoning that the prompt opens");
    const auto closed = reasoning_of("Qwen-Qwen3-0.6B", R"(,"chat_template_kwargs": {"enable_thinking": false})");
    expect(closed.has_value() && closed->prompt_end.find("</think>") != std::string::npos, "closed reasoning");
    expect(!reasoning_of("google-gemma-2-2b-it", "").has_value(), "no tags of Gemma 2");
});

const Test none_without_tag("reasoning-budget: the closing tag follows the message, whatever the vocabulary has", [] {
    for (const std::string name : {"qwen2", "llama-spm", "llama-bpe", "phi-3"}) {
        const Tokenizer tokenizer(vocabulary(name));
        const auto      message = tokenizer.tokenize("Enough.", false, false);
        const auto      budget  = reasoning_budget({"<think>", {"</think>"}, "<think>", 0, message}, tokenizer);
        std::string     text;
        while (const auto token = budget->forced()) {
            text += tokenizer.spelled(*token);
            budget->accept(*token);
        }
        expect(text.find("Enough.") < text.find("</think>") && text.find("</think>") != std::string::npos,
               name + " writes " + text);
    }
});

}  // namespace
