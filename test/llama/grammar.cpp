#include "../native/check.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "core/sampler.h"
#include "llama/sampling/grammar.h"

#include <common.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const char* const kJson = R"(root   ::= object
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}"
value  ::= object | array | string | number | "true" | "false" | "null"
array  ::= "[" ws ( value ("," ws value)* )? "]"
string ::= "\"" ( [^"\\\x00-\x1f] | "\\" ["\\/bfnrt] )* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)?
ws     ::= " "?
)";

std::shared_ptr<TokenConstraint> compile(const GrammarSettings& settings, const char* name = "qwen2") {
    return GrammarCompiler(vocabulary(name)).compile(settings);
}

GrammarSettings always(const std::string& gbnf) {
    GrammarSettings settings;
    settings.gbnf = gbnf;
    return settings;
}

std::vector<TokenId> tokens_of(const std::string& text) { return common_tokenize(vocabulary("qwen2"), text, false, true); }

TokenId token_of(const std::string& text) {
    const std::vector<TokenId> tokens = tokens_of(text);
    expect_equal(tokens.size(), size_t{1});
    return tokens[0];
}

// The token for this byte.
TokenId byte_token(char byte) {
    const llama_vocab* vocab = vocabulary("qwen2");
    for (TokenId token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
        if (common_token_to_piece(vocab, token, true) == std::string(1, byte)) return token;
    }
    fail("no token for a byte");
}

std::string text_of(const std::vector<TokenId>& tokens) {
    std::string text;
    for (const TokenId token : tokens) text += common_token_to_piece(vocabulary("qwen2"), token, true);
    return text;
}

std::vector<float> random_logits(int32_t n_vocab, std::mt19937& random) {
    std::normal_distribution<float> normal(0.0f, 3.0f);
    std::vector<float>              logits(static_cast<size_t>(n_vocab));
    for (float& logit : logits) logit = normal(random);
    return logits;
}

const Test tree("grammar: what the tree finds is what asking for every token finds", [] {
    const llama_vocab*   vocab   = vocabulary("qwen2");
    const auto           grammar = compile(always(kJson));
    std::vector<TokenId> all(static_cast<size_t>(llama_vocab_n_tokens(vocab)));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<TokenId>(i);
    // At the start, after a key, within strings, within a character of three bytes, at the end.
    for (const TokenId token : tokens_of("{\"caf\xc3\xa9\": [1, \"a\\n\xe2\x82\xac b\", {\"\xf0\x9f\xa6\x99\": -2.5}]}")) {
        std::vector<TokenId> expected = all;
        grammar->filter(expected);
        std::vector<TokenId> found = grammar->allowed();
        std::sort(found.begin(), found.end());
        expect(found == expected, std::to_string(expected.size()) + " tokens, got " + std::to_string(found.size()));
        expect(grammar->allows(token), "the next token of the text to be allowed: " + text_of({token}));
        grammar->accept(token);
    }
    const std::vector<TokenId> last = grammar->allowed();
    expect(!last.empty(), "an end");
    for (const TokenId token : last) expect(llama_vocab_is_eog(vocab, token), "only ends to be allowed");
});

const Test characters("grammar: bytes that make no character are refused", [] {
    const auto    grammar = compile(always("root ::= [^\"]{3}"));
    const TokenId lead    = byte_token('\xF4'), last = byte_token('\x8F'), beyond = byte_token('\x90');
    expect(!grammar->allows(byte_token('\xF5')) && !grammar->allows(byte_token('\xC0')), "no byte that begins nothing");
    expect(grammar->allows(lead), "the first byte of a character to be allowed");
    grammar->accept(lead);
    expect(grammar->allows(last), "its second byte to be allowed");
    expect(!grammar->allows(beyond), "no character beyond the last");
    expect(!grammar->allows(token_of("a")), "no other character within one");
});

const Test replacement("grammar: the replacement character itself is a character, spelled by its bytes too", [] {
    const auto grammar = compile(always("root ::= \"\\uFFFD\""));
    for (const char byte : {'\xEF', '\xBF', '\xBD'}) {
        const TokenId token = byte_token(byte);
        expect(grammar->allows(token), "each of its bytes to be allowed");
        grammar->accept(token);
    }
    for (const TokenId token : grammar->allowed()) expect(llama_vocab_is_eog(vocabulary("qwen2"), token), "only ends");
});

const Test named("grammar: tokens that are named in a grammar are found as well", [] {
    const auto    grammar = compile(always("root ::= <|im_start|> \"a\""));
    const TokenId start   = token_of("<|im_start|>");
    expect(grammar->allowed() == std::vector<TokenId>{start}, "only <|im_start|> to be allowed");
    grammar->accept(start);
    expect(grammar->allows(token_of("a")), "\"a\" to be allowed");
    expect(!grammar->allows(start), "<|im_start|> not to be allowed again");
});

// Random logits, as from an untrained model.
const Test random_texts("grammar: whatever is sampled is valid, and the same for the same seed", [] {
    const llama_vocab* vocab   = vocabulary("qwen2");
    const int32_t      n_vocab = llama_vocab_n_tokens(vocab);
    GrammarCompiler    compiler(vocab);
    const std::string  digits = "root ::= \"<\" [a-f]{3,9} \">\" [0-9]+ \"!\"";
    for (const auto& [heat, k, p] :
         {std::tuple(1.0f, 50, 1.0f), std::tuple(1.0f, 0, 1.0f), std::tuple(0.7f, 0, 0.9f), std::tuple(0.0f, 0, 1.0f)}) {
        const auto generate = [&, heat = heat, k = k, p = p] {
            SamplingSettings settings;
            settings.temperature = heat;
            settings.top_k       = k;
            settings.top_p       = p;
            settings.seed        = 7;
            Sampler              sampler(settings, compiler.compile(always(digits)));
            std::mt19937         random(11);
            std::vector<TokenId> tokens;
            while (tokens.size() < 200) {
                std::vector<float> logits = random_logits(n_vocab, random);
                const TokenId      token  = sampler.sample(logits.data(), n_vocab);
                if (llama_vocab_is_eog(vocab, token)) return text_of(tokens);
                tokens.push_back(token);
                sampler.accept(token);
            }
            fail("the text did not end: " + text_of(tokens));
        };
        const std::string text = generate();
        const size_t      end  = text.find('>');
        expect(text[0] == '<' && end >= 4 && end <= 10 && text.back() == '!', "a text of the grammar, got " + text);
        expect(text.find_first_not_of("0123456789", end + 1) == text.size() - 1, "digits, got " + text);
        expect_equal(generate(), text);
    }
});

const Test top_k("grammar: the top_k are those among the allowed", [] {
    const int32_t    n_vocab = llama_vocab_n_tokens(vocabulary("qwen2"));
    SamplingSettings settings;
    settings.top_k = 2;
    std::mt19937       random(5);
    std::vector<float> logits = random_logits(n_vocab, random);
    const auto         best   = [&](const char* text) { logits[static_cast<size_t>(token_of(text))] = 90.0f; };
    best("x");
    logits[static_cast<size_t>(token_of("a"))] = 60.0f;
    logits[static_cast<size_t>(token_of("b"))] = 59.9f;
    logits[static_cast<size_t>(token_of("c"))] = 59.8f;
    Sampler sampler(settings, compile(always("root ::= [a-c]+")));
    for (int i = 0; i < 100; ++i) {
        const std::string drawn = text_of({sampler.sample(logits.data(), n_vocab)});
        expect(drawn == "a" || drawn == "b", "a or b, got " + drawn);
    }
    expect(logits[static_cast<size_t>(token_of("x"))] == 90.0f, "the logits to be as they were");
});

const Test lazy("grammar: a lazy one applies from its word on, however that is tokenized", [] {
    GrammarSettings settings = always("root ::= \"<call>\" [0-9]+ \"</call>\"");
    settings.lazy            = true;
    settings.triggers        = {{GrammarTrigger::Kind::word, "<call>"}};
    const auto grammar       = compile(settings);
    for (const TokenId token : tokens_of("Any text { at all, then a <call")) {
        expect(grammar->allows(token), "any text to be allowed");
        grammar->accept(token);
    }
    expect(grammar->allows(token_of("x")), "anything to be allowed before the word is complete");
    grammar->accept(token_of(">"));
    expect(!grammar->allows(token_of("x")), "x not to be allowed in a call");
    expect(grammar->allows(token_of("7")), "7 to be allowed in a call");
});

const Test thinking("grammar: a lazy one is not triggered within a block of thought", [] {
    GrammarSettings settings = always("root ::= \"<call>\" [0-9]+ \"</call>\"");
    settings.lazy            = true;
    settings.triggers        = {{GrammarTrigger::Kind::word, "<call>"}};
    settings.thinking_start  = "<think>";
    settings.thinking_ends   = {"</think>"};
    settings.prefill         = "<|im_start|>assistant\n<think>\n";
    const auto grammar       = compile(settings);
    const auto accept        = [&](const std::string& text) {
        for (const TokenId token : tokens_of(text)) grammar->accept(token);
    };
    accept("Should I <call>");
    expect(grammar->allows(token_of("x")), "thinking about a call to be free");
    accept(" it? Yes.</think>");
    accept("\n<call>");
    expect(!grammar->allows(token_of("x")), "x not to be allowed in the call");
});

const Test no_call("grammar: what only looks like the trigger's call goes on without one", [] {
    GrammarSettings settings = always("root ::= \"<call>\" [0-9]+ \"</call>\"");
    settings.lazy            = true;
    settings.triggers        = {{GrammarTrigger::Kind::word, "<call"}};
    const auto grammar       = compile(settings);
    for (const TokenId token : tokens_of("see <caller> here")) grammar->accept(token);
    expect(grammar->allows(token_of("x")), "anything to be allowed");
});

const Test prefill("grammar: what the prompt ends with is passed over", [] {
    GrammarSettings settings = always("root ::= \"<|im_start|>assistant\\n\" \"yes\"");
    settings.prefill         = "<|im_start|>assistant\n";
    const auto grammar       = compile(settings);
    expect(grammar->allows(token_of("yes")), "yes to be allowed");
    expect(!grammar->allows(token_of("no")), "no not to be allowed");
    settings.prefill = "<|im_start|>user\n";
    expect(expect_throws<Error>([&] { compile(settings); }).code() == ErrorCode::invalid_grammar, "invalid_grammar");
});

const Test split_prefill("grammar: what the prompt ends with may have characters of several tokens", [] {
    GrammarSettings settings = always("root ::= \"<𐍈>\" \"yes\"");
    settings.prefill         = "<𐍈>";
    expect(tokens_of("𐍈").size() > 1, "a character of several tokens");
    expect(compile(settings)->allows(token_of("yes")), "yes to be allowed");
});

const Test refused("grammar: what llama.cpp would end the process for, or cannot read, is refused", [] {
    const std::string deep(100'000, '(');
    for (const std::string& gbnf :
         {std::string("%llguidance {}"), std::string("root ::= \"a"), std::string("root ::= missing"),
          std::string("root ::= root \"x\""), std::string("other ::= \"x\""), std::string(), "root ::= " + deep,
          std::string("root ::= \"a\"\0 b", 15), std::string("root ::= [a-"), std::string(5 << 20, ' ')}) {
        const auto error = expect_throws<Error>([&] { compile(always(gbnf)); });
        expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar for " + gbnf.substr(0, 40));
    }
});

const Test dead_end("grammar: one that allows nothing is an error of the job", [] {
    const int32_t      n_vocab = llama_vocab_n_tokens(vocabulary("qwen2"));
    Sampler            sampler({}, compile(always("root ::= \"\\x00\"")));
    std::vector<float> logits(static_cast<size_t>(n_vocab), 1.0f);
    const auto error = expect_throws<Error>([&] { sampler.sample(logits.data(), n_vocab); });
    expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar");
});

// As for gpt-oss: one trigger at the beginning of the text, one anywhere.
GrammarSettings by_pattern() {
    GrammarSettings settings = always(R"(root ::= " to=" [a-z]+)");
    settings.lazy            = true;
    settings.triggers        = {{GrammarTrigger::Kind::pattern, R"(^\s+to$)"},
                                {GrammarTrigger::Kind::pattern, R"(<\|start\|>assistant(\s+to=))"}};
    return settings;
}

const Test late_pattern("grammar: a pattern is found late in a text, at the cost of finding it early", [] {
    const auto grammar = compile(by_pattern());
    const auto words   = tokens_of(" and on and on");
    for (int i = 0; i < 20'000; ++i) {
        for (const TokenId token : words) grammar->accept(token);
    }
    // This is not at the beginning of the text any more.
    for (const TokenId token : tokens_of("  to")) grammar->accept(token);
    expect(grammar->allows(token_of("!")), "no trigger yet");
    for (const TokenId token : tokens_of("<|start|>assistant to=")) grammar->accept(token);
    expect(!grammar->allows(token_of("!")), "the grammar to apply");
    expect(grammar->allows(token_of("a")), "the grammar to go on");
});

const Test blank_pattern("grammar: a long run of blanks where a pattern might begin overflows no stack", [] {
    const auto grammar = compile(by_pattern());
    const auto blank   = token_of(" ");
    for (int i = 0; i < 60'000; ++i) grammar->accept(blank);
    expect(grammar->allows(token_of("!")), "no trigger");
});

const Test copies("grammar: copies follow texts of their own", [] {
    const auto grammars = GrammarCompiler(vocabulary("qwen2")).compile(always(R"(root ::= "a" "b" | "c" "d")"), 3);
    expect_equal(grammars.size(), size_t{3});
    grammars[0]->accept(token_of("a"));
    grammars[2]->accept(token_of("c"));
    expect(grammars[0]->allows(token_of("b")) && !grammars[0]->allows(token_of("d")), "the first to go on with b");
    expect(grammars[1]->allows(token_of("a")) && grammars[1]->allows(token_of("c")), "the second to be at its beginning");
    expect(grammars[2]->allows(token_of("d")) && !grammars[2]->allows(token_of("b")), "the third to go on with d");
});

const Test many_copies("grammar: copies of a large grammar cost less than compiling it again", [] {
    std::string gbnf = "root ::= \"x0\"";
    for (int i = 1; i < 4'000; ++i) gbnf += " | \"x" + std::to_string(i) + "\"";
    expect_equal(GrammarCompiler(vocabulary("qwen2")).compile(always(gbnf), 32).size(), size_t{32});
});

}  // namespace
