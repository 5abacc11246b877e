#include "../native/check.h"
#include "token-corpus.h"
#include "token-digests.h"

#include "llama/model/tokenizer.h"

#include <llama-interrupt.h>
#include <llama.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace chasqui::test;

namespace {

struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
};
using Vocabulary = std::unique_ptr<llama_model, Free>;

// `pre`: a pre-tokenizer instead of the file's own; nullptr: that one.
Vocabulary load(const std::string& name, const char* pre = nullptr) {
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_model_kv_override overrides[2] = {};
    overrides[0].tag                     = LLAMA_KV_OVERRIDE_TYPE_STR;
    std::strcpy(overrides[0].key, "tokenizer.ggml.pre");
    if (pre != nullptr) std::strncpy(overrides[0].val_str, pre, sizeof overrides[0].val_str - 1);
    llama_model_params params = llama_model_default_params();
    params.vocab_only         = true;
    if (pre != nullptr) params.kv_overrides = overrides;
    const std::string path = in_llama_source("models/ggml-vocab-" + name + ".gguf");
    Vocabulary        model(llama_model_load_from_file(path.c_str(), params));
    if (!model) fail("cannot load " + path);
    return model;
}

std::vector<llama_token> tokenize(const Vocabulary& model, const std::string& text, bool special) {
    const llama_vocab*       vocab = llama_model_get_vocab(model.get());
    std::vector<llama_token> tokens(text.size() * 2 + 16);
    const int32_t n = llama_tokenize(vocab, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                                     static_cast<int32_t>(tokens.size()), special, special);
    expect(n >= 0, "room for all tokens");
    tokens.resize(static_cast<size_t>(n));
    return tokens;
}

uint64_t digest(const Vocabulary& model, const std::vector<std::string>& texts) {
    uint64_t   hash = 1469598103934665603u;
    const auto add  = [&](uint32_t value) {
        for (int i = 0; i < 4; ++i) hash = (hash ^ ((value >> (8 * i)) & 255)) * 1099511628211u;
    };
    for (const std::string& text : texts) {
        for (const bool special : {false, true}) {
            const auto tokens = tokenize(model, text, special);
            add(static_cast<uint32_t>(tokens.size()));
            for (const llama_token token : tokens) add(static_cast<uint32_t>(token));
        }
    }
    return hash;
}

double seconds_since(std::chrono::steady_clock::time_point started) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

const Test keeps_tokens("tokens: every vocabulary and every pre-tokenizer gives what it always gave, and takes long runs", [] {
    const std::vector<std::string> texts = token_corpus();
    for (const auto& [vocabulary, pre, expected] : kTokenDigests) {
        const Vocabulary model = load(vocabulary, pre);
        expect(digest(model, texts) == expected,
               std::string(vocabulary) + " with " + (pre == nullptr ? "its own pre-tokenizer" : pre) + " to have the same tokens");
        // Recursion once overflowed the stack.
        for (const char* unit : {"a", "A", " ", "=", "1", "\n", "\xc3\xa9", "\xe4\xb8\xad", "a\xcc\x81", "a "}) {
            tokenize(model, repeated(unit, 40'000) + "\xe4\xb8\xad", true);
        }
    }
});

// Ids of Hugging Face's `tokenizers` 0.23; test/real compares 20,000 texts.
const Test as_reference("tokens: WordPiece, Unigram and GPT-4o's BPE give the ids of the reference implementation", [] {
    struct Case {
        const char*              vocabulary;
        const char*              pre;
        std::string              text;
        std::vector<llama_token> ids;
    };
    const Case cases[] = {
        {"bert-bge", nullptr, "\uc548\ub155 \uc138\uacc4", {1463, 30006, 30021, 29992, 30010, 30025, 100}},
        {"bert-bge", nullptr, "\u092f\u094b\u0917\u094d\u092f", {1332, 29879, 29853, 29868}},
        {"bert-bge", nullptr, "\u00dcn\u00efcode \u0130", {27260, 1045}},
        {"bert-bge", nullptr, "\u09cb", {1381, 29914}},
        {"bert-bge", nullptr, "don't\vstop", {2123, 1005, 24529, 14399}},
        {"bert-bge", nullptr, "[unk] \u2581x", {1031, 4895, 2243, 1033, 100}},
        {"bert-bge", nullptr, repeated("a", 7), {13360, 11057, 11057}},
        {"bert-bge", nullptr, repeated("a", 101), {100}},
        {"nomic-bert-moe", nullptr, "e\u0302\u0301", {26414}},
        {"nomic-bert-moe", nullptr, "\u304b\u3099", {6, 1894, 246514}},
        {"nomic-bert-moe", nullptr, "\ufb01 \u00bd", {809, 78660}},
        {"nomic-bert-moe", nullptr, "a\r\nb", {10, 876}},
        {"llama-bpe", "gpt-4o", "\u0939\u0948\u0902 HelloWorld", {95048, 100400, 22691, 10343}},
    };
    Vocabulary  model;
    const char* loaded = nullptr;
    for (const Case& c : cases) {
        if (loaded != c.vocabulary) model = load(c.vocabulary, c.pre);
        loaded = c.vocabulary;
        expect(tokenize(model, c.text, false) == c.ids, std::string(c.vocabulary) + ": " + c.text);
    }
});

// Each of these texts once took hours; now even tens of seconds would be a fault.
const Test linear("tokens: a text costs no more than its length", [] {
    const auto started = std::chrono::steady_clock::now();
    tokenize(load("qwen2"), repeated("<|im_start|>", 300'000), true);
    tokenize(load("gpt-2", "superbpe"), repeated("1", 300'000), true);
    tokenize(load("gpt-2", "deepseek-llm"), repeated(" ", 300'000) + "\xe4\xb8\xad", true);
    tokenize(load("qwen2", "gpt-4o"), repeated("<|im_start|>a", 100'000), true);
    expect(seconds_since(started) < 60, "seconds, not hours");
});

const Test interrupted("tokens: tokenizing ends when it is asked to", [] {
    struct Ended {};
    for (const char* name : {"llama-spm", "qwen2", "bert-bge", "nomic-bert-moe"}) {
        const Vocabulary model = load(name);
        llama_set_interrupt([](void*) { throw Ended{}; }, nullptr);
        bool has_ended = false;
        try {
            tokenize(model, repeated("ab cd ", 50'000), true);
        } catch (const Ended&) {
            has_ended = true;
        }
        llama_set_interrupt(nullptr, nullptr);
        expect(has_ended, std::string("an end of ") + name);
    }
});

// llama.cpp throws std::invalid_argument for a value beyond U+10FFFF and reads a surrogate as a character.
const Test invalid("tokens: what is not valid UTF-8 is read as U+FFFD, in every vocabulary", [] {
    const std::string mark = "\xEF\xBF\xBD";
    for (const char* name : {"llama-spm", "qwen2", "bert-bge", "nomic-bert-moe", "gemma-4", "command-r"}) {
        const Vocabulary         model = load(name);
        const chasqui::Tokenizer tokenizer(llama_model_get_vocab(model.get()));
        const auto               expect_read_as = [&](const std::string& bytes, const std::string& text) {
            expect(tokenizer.tokenize(bytes, false, false) == tokenizer.tokenize(text, false, false), name + (": " + text));
        };
        expect_read_as("a \xF4\x90\x80\x80 b", "a " + mark + mark + mark + mark + " b");
        expect_read_as("\xF7\xBF\xBF\xBF", mark + mark + mark + mark);
        expect_read_as("\xED\xA0\x80x", mark + mark + mark + "x");
        expect_read_as("x\xE2\x82", "x" + mark);
    }
});

}  // namespace
