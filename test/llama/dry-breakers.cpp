#include "../native/check.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "core/sampler.h"
#include "llama/sampling/breakers.h"

#include <llama.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

struct FreeSampler {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using Chain = std::unique_ptr<llama_sampler, FreeSampler>;

Chain llama_dry(const llama_vocab* vocab, const SamplingSettings& settings) {
    Chain                    chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    std::vector<const char*> texts;
    for (const std::string& text : settings.dry_breaker_texts) texts.push_back(text.c_str());
    llama_sampler_chain_add(chain.get(), llama_sampler_init_dry(vocab, settings.dry_multiplier, settings.dry_base,
                                                                settings.dry_allowed_length, settings.dry_penalty_last_n,
                                                                texts.data(), texts.size()));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_dist(settings.seed));
    return chain;
}

TokenId llama_sample(llama_sampler* chain, const std::vector<float>& logits) {
    std::vector<llama_token_data> data;
    for (size_t id = 0; id < logits.size(); ++id) data.push_back({static_cast<llama_token>(id), logits[id], 0.0f});
    llama_token_data_array array{data.data(), data.size(), -1, false};
    llama_sampler_apply(chain, &array);
    return array.data[array.selected].id;
}

// The text is of so few words that it repeats itself, and breakers are among them, in one token and in several.
const Test alike("dry breakers: end repetitions where llama.cpp's do", [] {
    for (const char* name : {"gpt-2", "llama-spm", "qwen2"}) {
        const llama_vocab* vocab = vocabulary(name);
        const Tokenizer    tokenizer(vocab);
        const BreakerFinder finder(tokenizer);
        std::vector<TokenId> words;
        int                  n_broken = 0;
        for (const char* text : {" one", " two", ":", "\n", "*", " --", "-", "END", " END OF", "TEXT"}) {
            for (const TokenId token : tokenizer.tokenize(text, false, false)) words.push_back(token);
        }
        for (const std::vector<std::string>& texts :
             {std::vector<std::string>{"\n", ":", "\"", "*"}, {"END OF TEXT"}, {"---"}, {"ENDTEXT", "one two"}}) {
            SamplingSettings settings;
            settings.seed               = 3;
            settings.dry_multiplier     = 5.0f;
            settings.dry_allowed_length = 1;
            settings.dry_penalty_last_n = 60;
            settings.dry_breaker_texts  = texts;
            settings.dry_breakers       = finder.find(texts);
            SamplingSettings without    = settings;
            without.dry_breakers        = nullptr;

            const Chain                     theirs = llama_dry(vocab, settings);
            Sampler                         ours(settings), unbroken(without);
            std::mt19937                    random(7);
            std::normal_distribution<float> normal(12.0f, 1.0f);
            for (int round = 0; round < 150; ++round) {
                std::vector<float> logits(static_cast<size_t>(tokenizer.vocabulary_size()), -20.0f);
                for (const TokenId word : words) logits[static_cast<size_t>(word)] = normal(random);
                const TokenId expected = llama_sample(theirs.get(), logits);
                const auto    n_vocab  = static_cast<int32_t>(logits.size());
                expect_equal(ours.sample(logits.data(), n_vocab), expected);
                n_broken += unbroken.sample(logits.data(), n_vocab) == expected ? 0 : 1;
                llama_sampler_accept(theirs.get(), expected);
                ours.accept(expected);
                unbroken.accept(expected);
            }
        }
        expect(n_broken > 0, std::string("breakers of ") + name + " that change something");
    }
});

const Test limits("dry breakers: too many, too long and empty ones are refused", [] {
    const Tokenizer     tokenizer(vocabulary("gpt-2"));
    const BreakerFinder finder(tokenizer);
    for (const std::vector<std::string>& texts :
         {std::vector<std::string>(17, "a"), {std::string(161, 'a')}, {"a", ""}}) {
        expect(expect_throws<Error>([&] { finder.find(texts); }).code() == ErrorCode::invalid_job, "invalid_job");
    }
    expect(finder.find({}) == nullptr, "nothing for no texts");
});

// A control token writes nothing, but its name is a text that people give.
const Test control("dry breakers: the name of a control token is a breaker", [] {
    const llama_vocab*  vocab = vocabulary("qwen2");
    const Tokenizer     tokenizer(vocab);
    const BreakerFinder finder(tokenizer);
    const auto          named = tokenizer.tokenize("<|im_end|>", false, true);
    expect_equal(named.size(), size_t{1});
    expect(finder.find({"<|im_end|>"})->complete[static_cast<size_t>(named[0])], "the token to be a breaker");
});

}  // namespace
