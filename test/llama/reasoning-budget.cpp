// What limits reasoning, beside llama.cpp's sampler for it, and with the tags of real templates.
#include "../native/check.h"
#include "chat-templates.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "core/sampler.h"
#include "core/utf8-buffer.h"
#include "llama/chat/chat-template.h"
#include "llama/sampling/grammar.h"
#include "llama/chat/reasoning.h"

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
        const auto budget = reasoning_budget({{{start, {end}}}, "", max_tokens, message}, tokenizer);
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
        const ChatTemplate& chat = template_of(name);
        return chat.render(R"({"messages": [{"role": "user", "content": "Hi"}])" + more + "}").reasoning;
    };
    const auto open = reasoning_of("Qwen-QwQ-32B", "");
    expect(open.has_value() && !open->is_detected, "tags of QwQ");
    expect_equal(open->start, "<think>");
    expect_equal(open->ends.at(0), "</think>");
    expect(open->prompt_end.find("<think>") != std::string::npos, "reasoning that the prompt opens");
    const auto closed = reasoning_of("Qwen-Qwen3-0.6B", R"(,"chat_template_kwargs": {"enable_thinking": false})");
    expect(closed.has_value() && closed->prompt_end.find("</think>") != std::string::npos, "closed reasoning");
    expect(reasoning_of("google-gemma-2-2b-it", "")->is_detected, "no tags of Gemma 2");
});

// Logits of an untrained model: those from any place on are others.
const std::vector<float>& random_logits(size_t n_vocab) {
    static std::vector<float> logits;
    if (!logits.empty()) return logits;
    std::mt19937                    random(5);
    std::normal_distribution<float> normal(0.0f, 1.0f);
    logits.resize(2 * n_vocab);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

// A completion under the grammar of the prompt, of a model that would like to begin with a certain text.
std::string complete(const RenderedPrompt& prompt, size_t max_tokens, const std::string& likes) {
    static const Tokenizer tokenizer(vocabulary("qwen2"));
    static GrammarCompiler compiler(vocabulary("qwen2"));
    const auto             n_vocab = static_cast<size_t>(tokenizer.vocabulary_size());
    const ReasoningTags&   said    = *prompt.reasoning;
    const ReasoningLimit   limit{{{said.start, said.ends}}, said.prompt_end, max_tokens,
                                 tokenizer.tokenize("Enough.", false, false)};
    SamplingSettings       settings;
    settings.temperature = 0;
    Sampler                    sampler(settings, compiler.compile(*prompt.grammar), reasoning_budget(limit, tokenizer));
    const std::vector<TokenId> liked = tokenizer.tokenize(likes, false, true);
    std::string                text;
    for (size_t i = 0; i < 24; ++i) {
        const auto         from = random_logits(n_vocab).begin() + static_cast<ptrdiff_t>(997 * i);
        std::vector<float> logits(from, from + static_cast<ptrdiff_t>(n_vocab));
        if (i < liked.size()) logits[static_cast<size_t>(liked[i])] = 50;
        const TokenId token = sampler.sample(logits.data(), tokenizer.vocabulary_size());
        if (tokenizer.is_end_of_generation(token)) break;
        sampler.accept(token);
        text += tokenizer.spelled(token);
    }
    return text;
}

const Test enforced("reasoning-budget: nothing is written into calls and contents that a grammar enforces", [] {
    common_log_pause(common_log_main());
    const std::string schema = R"("json_schema": {"type": "object", "properties": {"a": {"type": "string"}}})";
    const std::string must   = kTools + std::string(R"(,"tool_choice": "required")");
    size_t            n      = 0, n_limited = 0;
    for (const std::string& name : template_names()) {
        const ChatTemplate& chat = template_of(name);
        for (const std::string& more : {schema, must, kTools + ("," + schema)}) {
            if (more != schema && !chat.capabilities().tools) continue;
            const RenderedPrompt prompt =
                chat.render(R"({"messages": [{"role": "user", "content": "Hi"}],)" + more + "}");
            if (!prompt.reasoning || !prompt.grammar || !prompt.format) continue;
            const bool        wants_call = more == must;
            const std::string likes      = wants_call ? "<tool_call>\n{\"name\": \"get_weather\"" : "{\"a\": \"bcd";
            for (const size_t max_tokens : {size_t{0}, size_t{3}, size_t{5}, size_t{9}}) {
                const std::string text  = complete(prompt, max_tokens, likes);
                const Reply       reply = read(*prompt.format, text, text.size() + 1);
                std::string       rest  = reply.content;
                for (const std::string& call : reply.calls) rest += call;
                if (rest.find("nough.") != std::string::npos) fail(name + " with " + more + " writes " + text);
                ++n;
                n_limited += reply.reasoning.find("Enough.") == std::string::npos ? 0 : 1;
            }
        }
    }
    expect(n_limited > 40, "limited: " + std::to_string(n_limited) + " of " + std::to_string(n));
});

const Test none_without_tag("reasoning-budget: the closing tag follows the message, whatever the vocabulary has", [] {
    for (const std::string name : {"qwen2", "llama-spm", "llama-bpe", "phi-3"}) {
        const Tokenizer tokenizer(vocabulary(name));
        const auto      message = tokenizer.tokenize("Enough.", false, false);
        const auto      budget  = reasoning_budget({{{"<think>", {"</think>"}}}, "<think>", 0, message}, tokenizer);
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
