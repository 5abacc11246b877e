// Compares the grammar engine with llama.cpp's: both must allow the same tokens along random texts.
#include "../native/check.h"
#include "compile-grammar.h"
#include "vocabulary.h"

#include "core/utf8-buffer.h"

#include <common.h>
#include <llama.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

struct FreeSampler {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using SamplerHandle = std::unique_ptr<llama_sampler, FreeSampler>;

const llama_vocab* vocab() { return vocabulary("qwen2"); }

// Tokens of one byte, control tokens, and every 100th of the others. Short ones, because llama.cpp follows each way to
// read them.
const std::vector<TokenId>& some_tokens() {
    static const std::vector<TokenId> tokens = [] {
        constexpr TokenId    kEvery = 100;
        std::vector<TokenId> some;
        for (TokenId token = 0; token < llama_vocab_n_tokens(vocab()); ++token) {
            const size_t length = common_token_to_piece(vocab(), token, true).size();
            const bool   is_one = token % kEvery == 0 && length <= 6;
            if (length == 1 || llama_vocab_is_control(vocab(), token) || is_one) some.push_back(token);
        }
        return some;
    }();
    return tokens;
}

std::vector<bool> allowed_by_llama(llama_sampler* sampler) {
    std::vector<llama_token_data> candidates;
    for (const TokenId token : some_tokens()) candidates.push_back({token, 0.0f, 0.0f});
    llama_token_data_array array{candidates.data(), candidates.size(), -1, false};
    llama_sampler_apply(sampler, &array);
    std::vector<bool> allowed;
    for (const llama_token_data& each : candidates) allowed.push_back(each.logit != -INFINITY);
    return allowed;
}

constexpr size_t kMaxTokens = 12;

// Follows one random text. Returns the number of tokens.
size_t compare(const std::string& gbnf, std::mt19937& random) {
    const SamplerHandle reference(llama_sampler_init_grammar(vocab(), gbnf.c_str(), "root"));
    if (!reference) return 0;
    const auto  grammar = compile(gbnf);
    std::string text;
    for (size_t n = 0; n < kMaxTokens; ++n) {
        const std::vector<bool> expected = allowed_by_llama(reference.get());
        std::vector<TokenId>    choices;
        for (size_t i = 0; i < expected.size(); ++i) {
            const TokenId     token = some_tokens()[i];
            const std::string piece = common_token_to_piece(vocab(), token, true);
            Utf8Buffer        buffer;
            buffer.push(text);
            const bool is_utf8 = buffer.fits(piece);
            buffer.push(piece);
            // llama.cpp accepts some characters that do not exist, and refuses the first byte of a character that a
            // negated set excludes, although other characters begin with it.
            const bool is_allowed = grammar->allows(token);
            const bool is_right   = is_utf8 && buffer.is_holding() ? is_allowed || !expected[i]
                                                                   : is_allowed == (expected[i] && is_utf8);
            expect(is_right, gbnf + (is_allowed ? " to refuse " : " to allow ") + piece + " after " + text);
            if (expected[i] && is_allowed && !llama_vocab_is_eog(vocab(), token)) choices.push_back(token);
        }
        if (choices.empty()) return n;
        const TokenId token = choices[random() % choices.size()];
        llama_sampler_accept(reference.get(), token);
        grammar->accept(token);
        text += common_token_to_piece(vocab(), token, true);
    }
    return kMaxTokens;
}

const Test files("grammar parity: allows what llama.cpp allows, for its own grammars", [] {
    std::mt19937 random(1);
    for (const char* name : {"arithmetic", "c", "chess", "english", "japanese", "json", "json_arr", "list"}) {
        std::ifstream     file(in_llama_source(std::string("grammars/") + name + ".gbnf"));
        const std::string gbnf(std::istreambuf_iterator<char>(file), {});
        expect(!gbnf.empty(), std::string("a grammar in ") + name);
        for (int round = 0; round < 3; ++round) expect(compare(gbnf, random) > 0, "a text");
    }
});

// Not beside text: llama.cpp allows the rest of a token as a token of its own.
const Test named("grammar parity: allows what llama.cpp allows, for tokens", [] {
    std::mt19937 random(3);
    for (const char* gbnf : {"root ::= <|im_start|> (!<[100]> | <|endoftext|>){3} <[200]>", "root ::= !<|im_start|>+"}) {
        for (int round = 0; round < 3; ++round) expect(compare(gbnf, random) > 0, "a text");
    }
});

class RandomGrammar {
public:
    explicit RandomGrammar(std::mt19937& random) : random_(random) {}

    std::string text() {
        std::string gbnf;
        for (rule_ = 0; rule_ < kRules; ++rule_) {
            gbnf += (rule_ == 0 ? "root" : "r" + std::to_string(rule_)) + " ::= " + alternatives(1) + "\n";
        }
        return gbnf;
    }

private:
    static constexpr size_t kRules = 4;

    size_t      below(size_t n) { return random_() % n; }
    std::string alternatives(size_t depth) {
        std::string text = sequence(depth);
        for (size_t i = below(3); i > 0; --i) text += " | " + sequence(depth);
        return text;
    }
    std::string sequence(size_t depth) {
        if (below(8) == 0) return "\"\"";
        std::string text;
        for (size_t i = 1 + below(3); i > 0; --i) text += item(depth) + times() + " ";
        return text;
    }
    std::string item(size_t depth) {
        static const std::vector<std::string> kTerminals = {
            "\"a\"",  "\"ab\"", "\"b\"",  "\"é\"",     "\"\\\"\"", "[ab]", "[^a]", "[a-zé-ü]", ".",
            "[0-9]", "\" \"",  "[^0-9\"]", "[一-龠]", "\"0\""};
        if (depth > 0 && below(5) == 0) return "(" + alternatives(depth - 1) + ")";
        if (rule_ + 1 < kRules && below(4) == 0) return "r" + std::to_string(rule_ + 1 + below(kRules - rule_ - 1));
        // Recursion behind a character, so that it ends.
        if (below(12) == 0) return "(\"a\" r" + std::to_string(1 + below(kRules - 1)) + ")";
        return kTerminals[below(kTerminals.size())];
    }
    std::string times() {
        static const std::vector<std::string> kTimes = {"*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"};
        return below(3) == 0 ? kTimes[below(kTimes.size())] : "";
    }

    std::mt19937& random_;
    size_t        rule_ = 0;
};

const Test random_grammars("grammar parity: allows what llama.cpp allows, for random grammars", [] {
    std::mt19937 random(2);
    size_t       n_tokens = 0;
    for (int round = 0; round < 100; ++round) {
        const std::string gbnf = RandomGrammar(random).text();
        n_tokens += compare(gbnf, random);
    }
    expect(n_tokens > 500, "texts of 500 tokens, got " + std::to_string(n_tokens));
});

}  // namespace
