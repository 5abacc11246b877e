#include "../native/check.h"
#include "compile-grammar.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "core/sampler.h"

#include <common.h>

#include <chrono>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

TokenId token_of(const std::string& text) {
    const std::vector<TokenId> tokens = common_tokenize(vocabulary("qwen2"), text, false, true);
    expect_equal(tokens.size(), size_t{1});
    return tokens[0];
}

void expect_refused(const std::string& gbnf) {
    const auto error = expect_throws<Error>([&] { compile(gbnf); });
    expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar for " + gbnf.substr(0, 60));
    expect(std::string(error.what()).size() < 1000, "a short message for " + gbnf.substr(0, 60));
}

// Whether the grammar accepts the text, character by character, and may end after it.
bool takes(const std::string& gbnf, const std::string& text) {
    const auto grammar = compile(gbnf);
    for (const char c : text) {
        const TokenId token = token_of(std::string(1, c));
        if (!grammar->allows(token)) return false;
        grammar->accept(token);
    }
    return grammar->allows(llama_vocab_eos(vocabulary("qwen2")));
}

std::string repeated(const std::string& text, size_t times) {
    std::string result;
    for (size_t i = 0; i < times; ++i) result += text;
    return result;
}

const Test ambiguity("hostile grammar: one that is ambiguous without end fails by itself, soon", [] {
    const auto grammar = compile("root ::= s\ns ::= [a-z] s \"y\" | [a-z] s \"z\" | \"#\"\n");
    const auto error   = expect_throws<Error>([&] {
        for (int i = 0; i < 64; ++i) {
            expect(!grammar->allowed().empty(), "tokens that are allowed");
            grammar->accept(token_of("a"));
        }
    });
    expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar");
});

const Test wide_start("hostile grammar: one that can begin in 2^40 ways is refused", [] {
    std::string gbnf = "root ::= r0\n";
    for (int i = 0; i < 40; ++i) {
        const std::string next = " r" + std::to_string(i + 1);
        gbnf += "r" + std::to_string(i) + " ::=" + next + " \"x\" |" + next + " \"y\"\n";
    }
    expect_refused(gbnf + "r40 ::= \"z\"\n");
});

const Test reversed("hostile grammar: a repetition whose end lies before its beginning is refused", [] {
    for (const char* times : {"{2,1}", "{5,0}", "{2000,1999}"}) expect_refused("root ::= \"a\"" + std::string(times));
});

const Test repetitions("hostile grammar: repetitions that would fill the memory are refused", [] {
    expect_refused("root ::= \"x\"{1000000000}");
    expect_refused("root ::= \"x\"{99999999999999999999999999999999}");
    expect_refused("root ::= \"" + std::string(1 << 20, 'a') + "\"{2000}");
    expect_refused("root ::= [" + std::string(1 << 20, 'a') + "]{0,2000}");
    expect_refused("root ::= " + repeated("\"a\"{2000} ", 100'000));
    expect_refused("root ::= " + repeated("(" + repeated("\"a\"{2000} ", 2000), 200));
    expect_refused("root ::= [" + std::string(100'000, 'a') + "]");
    // Each repetition becomes a rule of its own.
    compile("root ::= ((\"a\"{1000}){1000}){1000}");
});

const Test empty_rules("hostile grammar: rules that are empty only through others are known to be empty", [] {
    expect_refused("root ::= b root \"x\" | \"y\"\nb ::= c\nc ::= \"\"\n");
    expect_refused("root ::= a b root \"x\" | \"y\"\na ::= b b\nb ::= c | \"q\"\nc ::= d\nd ::= \"\"\n");
    // The rule can only be followed by itself, without end.
    const auto grammar = compile("root ::= \"a\" z | \"b\"\nz ::= n z\nn ::= m\nm ::= \"\"\n");
    expect(grammar->allows(token_of("b")), "the way out");
    expect_refused("root ::= z\nz ::= n z\nn ::= m\nm ::= \"\"\n");
});

const Test tails("hostile grammar: repeating what may be empty is no fault", [] {
    for (const char* gbnf :
         {"root ::= (\"a\"? \"b\"?)*", "root ::= (\"a\" | \"b\" | )+", "root ::= ((\"a\"*)* \"b\"*)*"}) {
        expect(takes(gbnf, "abba") && takes(gbnf, "") && !takes(gbnf, "abc"), gbnf);
    }
});

const Test dead_end("hostile grammar: a text that cannot go on is an error of its request", [] {
    const int32_t n_vocab = llama_vocab_n_tokens(vocabulary("qwen2"));
    Sampler       sampler({}, compile("root ::= \"a\" z\nz ::= n z\nn ::= m\nm ::= \"\"\n"));
    const auto    error = expect_throws<Error>([&] {
        for (int i = 0; i < 3; ++i) {
            std::vector<float> logits(static_cast<size_t>(n_vocab), 1.0f);
            sampler.accept(sampler.sample(logits.data(), n_vocab));
        }
    });
    expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar");
});

const Test refused_token("hostile grammar: a token that is not allowed is an error when it is accepted", [] {
    for (const TokenId token : {llama_vocab_eos(vocabulary("qwen2")), token_of("b")}) {
        const auto grammar = compile("root ::= \"a\"");
        const auto error   = expect_throws<Error>([&] { grammar->accept(token); });
        expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar");
    }
});

const Test comments("hostile grammar: groups nested too deeply are refused wherever they hide", [] {
    const std::string deep(100'000, '(');
    expect_refused("root ::= #\r" + deep);
    expect_refused("root ::= #\n" + deep);
    expect_refused("root ::= \"\\\"\" " + deep);
    expect_refused("root ::= [\\]\"] " + deep);
    expect_refused("root ::= [^] " + deep);
    // Brackets in literals and comments are not groups.
    expect(takes("root ::= # " + deep + "\n\"a\"", "a"), "groups in a comment");
    expect(takes("root ::= [a" + deep.substr(0, 1000) + "]", "a"), "groups in a set");
    compile("root ::= \"" + deep + "\"");
});

const Test chains("hostile grammar: long chains of rules, and rules that refer twice to the next", [] {
    std::string twice = "root ::= r0\n", chain = "root ::= r0\n";
    for (int i = 0; i < 40; ++i) {
        const std::string next = " r" + std::to_string(i + 1);
        twice += "r" + std::to_string(i) + " ::=" + next + next + "\n";
    }
    expect(compile(twice + "r40 ::= \"x\"\n")->allows(token_of("x")), "x to be allowed");
    for (int i = 0; i < 150'000; ++i) {
        chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
    }
    expect(compile(chain + "r150000 ::= \"x\"\n")->allows(token_of("x")), "x to be allowed");
    expect(compile(chain + "r150000 ::= \"x\" | r0\n")->allows(token_of("x")), "x to be allowed");
    expect_refused(chain + "r150000 ::= r0 \"x\"\n");
    expect_refused(chain + "r150000 ::= \"x\"\n" + repeated("a ::= (((\"x\")))\n", 50'000));
});

const Test names("hostile grammar: names, tokens and messages of any length", [] {
    const std::string mebibyte(1 << 20, 'a');
    expect_refused("root ::= <" + mebibyte + ">");
    expect_refused("root ::= " + mebibyte);
    expect_refused("root ::= \"\\q" + mebibyte);
    expect_refused("root ::= <[99999999999999999999999]>");
    expect_refused("root ::= <[4294967296]>");
    expect_refused("root ::= \"a\" }" + mebibyte);
    expect(takes(mebibyte + " ::= (\"a\" | \"b\"){1,1000}\nroot ::= " + mebibyte, "ab"), "a long name to be taken");
    expect_refused("root ::= " + repeated("<|im_start|>", 300'000) + " )");
});

const Test literals("hostile grammar: many literals cost what their differences do", [] {
    std::string gbnf = "root ::= (";
    for (int i = 0; i < 20'000; ++i) gbnf += (i > 0 ? " | " : "") + ("\"value " + std::to_string(i * 7) + "\"");
    gbnf += " | \"\" | \"value \" | [x] \"y\" | \"xyz\")";
    for (const char* text : {"", "value ", "value 7", "value 139993", "xy", "xyz"}) {
        expect(takes(gbnf, text), std::string("to be taken: ") + text);
    }
    for (const char* text : {"v", "value 8", "value 139994", "x", "xyzz"}) {
        expect(!takes(gbnf, text), std::string("not to be taken: ") + text);
    }
    const auto begun   = std::chrono::steady_clock::now();
    const auto grammar = compile(gbnf);
    for (const char c : std::string("value 139993")) {
        expect(!grammar->allowed().empty(), "tokens that are allowed");
        grammar->accept(token_of(std::string(1, c)));
    }
    // It takes a tenth of a second, and would take a minute if each literal were matched by itself.
    expect(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10), "a result within seconds");
});

// The states after different letters differ, and each has twice as many ways as the one before.
std::string doubling() {
    std::string gbnf = "root ::= s\ns ::= \"#\"";
    for (char c = 'a'; c <= 'z'; ++c) {
        for (const char* end : {"y", "z"}) gbnf += std::string(" | \"") + c + "\" s \"" + c + end + "\"";
    }
    return gbnf;
}

const Test overdue("hostile grammar: a call ends when its deadline is over, and can be made again", [] {
    const auto grammar = compile(doubling());
    Deadline   deadline;
    grammar->set_deadline(&deadline);
    grammar->accept(token_of("#"));
    const std::vector<TokenId> all = grammar->allowed();
    deadline.expire();
    expect_throws<ConstraintTimeout>([&] { grammar->allowed(); });
    expect_throws<ConstraintTimeout>([&] { grammar->allows(token_of("a")); });
    deadline.clear();
    expect(grammar->allowed() == all, "the same tokens as before");
    deadline.expire();
    expect_throws<ConstraintTimeout>([&] { grammar->accept(llama_vocab_eos(vocabulary("qwen2"))); });
    grammar->set_deadline(nullptr);
});

const Test slow("hostile grammar: the deadline comes during a call that would take long and then fail", [] {
    const auto grammar = compile(doubling());
    Deadline   deadline;
    grammar->set_deadline(&deadline);
    for (int i = 0; i < 8; ++i) grammar->accept(token_of("a"));
    deadline.set(Deadline::Clock::now() + std::chrono::milliseconds(1));
    expect_throws<ConstraintTimeout>([&] { grammar->allowed(); });
    deadline.clear();
    expect(expect_throws<Error>([&] { grammar->allowed(); }).code() == ErrorCode::invalid_grammar, "invalid_grammar");
    expect(grammar->allows(token_of("a")), "the same result as before");
    grammar->set_deadline(nullptr);
});

// The process must survive these grammars.
const Test oddities("hostile grammar: odd ones are refused or obeyed", [] {
    for (const std::string& gbnf :
         {std::string("root ::= [^]"),
          std::string("root ::= []"),
          std::string("root ::= [z-a]"),
          std::string("root ::= [^]+"),
          std::string("root ::= [a-"),
          std::string("root ::= [\\"),
          std::string("root ::= \"\\x4"),
          std::string("root ::= \"\\UFFFFFFFF\""),
          std::string("root ::= \"\\xff\xff\""),
          std::string("root ::= \"\xf0\x9f\""),
          std::string("root ::= .*.*.*.*.*.*"),
          std::string("root ::= (.* .*)* .*"),
          std::string("root ::= a\na ::= a | \"x\""),
          std::string("root ::= root"),
          std::string("root ::="),
          std::string("root ::= |"),
          std::string("root ::= | | |"),
          std::string("root ::= ()"),
          std::string("root ::= ()*"),
          std::string("root ::= (()())+"),
          std::string("root ::= \"a\"{0}"),
          std::string("root ::= \"a\"{0,0}*"),
          std::string("root ::= \"a\"{1,}{1,}"),
          std::string("root ::= \"a\"{,5}"),
          std::string("root ::= !<|im_start|>*"),
          std::string("root ::= <"),
          std::string("root ::= <["),
          std::string("root ::= !"),
          std::string("root ::= \"a\" root ::= \"b\""),
          std::string("root ::= (\"a\""),
          std::string("root ::= \"a\")"),
          std::string("::= \"a\""),
          std::string("root \"a\""),
          std::string("root ::= a b c\na ::= \"\" | \"x\"\nb ::= a a a a\nc ::= b b b b b | b c \"y\"\n"),
          std::string("root ::= a{0,2000}\na ::= \"\" | a1\na1 ::= \"x\"{0,2000}")}) {
        try {
            const auto           grammar = compile(gbnf);
            std::vector<TokenId> allowed = grammar->allowed();
            for (int i = 0; i < 12 && !allowed.empty(); ++i) {
                const TokenId token = allowed[allowed.size() / 2];
                if (llama_vocab_is_eog(vocabulary("qwen2"), token)) break;
                grammar->accept(token);
                allowed = grammar->allowed();
            }
        } catch (const Error& error) {
            expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar for " + gbnf);
        }
    }
});

}  // namespace
