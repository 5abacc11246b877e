#include "check.h"

#include "core/grammar/gbnf-parser.h"
#include "core/grammar/grammar-matcher.h"
#include "core/grammar/grammar-triggers.h"
#include "core/grammar/token-tree.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

std::shared_ptr<const GrammarRules> rules_of(const std::string& gbnf) {
    return parse_gbnf(gbnf, [](std::string_view text) -> std::optional<TokenId> {
        if (text == "<seven>") return 7;
        return std::nullopt;
    });
}

std::string refusal_of(const std::string& gbnf) {
    return expect_throws<std::runtime_error>([&] { GrammarMatcher matcher(rules_of(gbnf)); }).what();
}

GrammarMatcher::State follow(GrammarMatcher& matcher, const std::string& text) {
    GrammarMatcher::State state = matcher.current();
    for (const char byte : text) state = matcher.after_byte(state, byte);
    return state;
}

void expect_texts(const std::string& gbnf, const std::vector<std::string>& accepted,
                  const std::vector<std::string>& refused) {
    GrammarMatcher matcher(rules_of(gbnf));
    for (const std::string& text : accepted) {
        expect(matcher.may_end(follow(matcher, text)), gbnf + " to accept \"" + text + "\"");
    }
    for (const std::string& text : refused) {
        expect(!matcher.may_end(follow(matcher, text)), gbnf + " to refuse \"" + text + "\"");
    }
}

const Test notation("grammar: the notation of llama.cpp", [] {
    expect_texts("root ::= \"a\" x | # comment\n  \"b\"\n\n# another\nx ::= (\n  \"c\"\n  | \"d\" )", {"ac", "ad", "b"},
                 {"a", "abc", "", "c"});
    expect_texts("root ::= [a-cx-]", {"a", "b", "c", "x", "-"}, {"d", "", "ab"});
    expect_texts("root ::= [^a-c\"]", {"d", "\n", "é", "𐍈"}, {"a", "\"", "", "dd"});
    expect_texts("root ::= .", {"a", "\n", "é", "€", "𐍈"}, {"", "ab", "\xff", "\xc3"});
    expect_texts(R"(root ::= "\x41\u00e9\U00010348\t\n\r\\\"" [\[\]\-\\]+)", {"Aé𐍈\t\n\r\\\"[]-\\"}, {"A"});
    expect_texts("root ::= \"ab\"* [0-9]?", {"", "ab", "abab7", "7"}, {"aba", "a7", "77"});
    expect_texts("root ::= \"a\"{2} \"b\"{1,} \"c\"{0,2}", {"aab", "aabbbcc"}, {"aa", "ab", "aabccc", "aaab"});
    expect_texts("root ::= (\"a\" | \"b\"){2,3}+ \"c\"{0}", {"ab", "abb", "abbaa"}, {"a", "abc"});
    expect_texts("root ::= []\"a\"[z-a]?[^]", {"a"}, {"", "ab"});
    expect_texts("1 ::= \"old\"\nroot ::= 1\r\n1 ::= \"new\"", {"new"}, {"old"});
});

const Test characters("grammar: characters are matched by their bytes, and invalid ones not at all", [] {
    expect_texts("root ::= [à-ï]", {"à", "é", "ï"}, {"ß", "ð", "a"});
    expect_texts("root ::= [^é]", {"è", "a", "€"}, {"é", "\xc3"});
    expect_texts("root ::= \"\\ud800\" | \"\\uFFFF\\U0010FFFF\" | \"\\U00110000\" | \"\\UFFFFFFFF\"", {"\xef\xbf\xbf\xf4\x8f\xbf\xbf"},
                 {"\xed\xa0\x80", "\xf4\x90\x80\x80"});
    // Each boundary of UTF-8, from every beginning to every end.
    const std::vector<std::pair<uint32_t, std::string>> known = {
        {0x7F, "\x7F"},           {0x80, "\xC2\x80"},         {0x7FF, "\xDF\xBF"},         {0x800, "\xE0\xA0\x80"},
        {0xD7FF, "\xED\x9F\xBF"}, {0xE000, "\xEE\x80\x80"},   {0xFFFF, "\xEF\xBF\xBF"},    {0x10000, "\xF0\x90\x80\x80"},
        {0x12345, "\xF0\x92\x8D\x85"}, {0x10FFFF, "\xF4\x8F\xBF\xBF"}};
    const auto escaped = [](uint32_t c) {
        char text[16];
        std::snprintf(text, sizeof(text), "\\U%08X", c);
        return std::string(text);
    };
    for (const auto& first : known) {
        for (const auto& last : known) {
            if (last.first < first.first) continue;
            std::vector<std::string> in, out;
            for (const auto& [c, text] : known) (first.first <= c && c <= last.first ? in : out).push_back(text);
            const std::string set = escaped(first.first) + "-" + escaped(last.first) + "]";
            expect_texts("root ::= [" + set, in, out);
            expect_texts("root ::= [^" + set, out, in);
        }
    }
});

const Test tokens("grammar: tokens match by their number, at the beginning of a token only", [] {
    GrammarMatcher matcher(rules_of("root ::= <seven> \"ab\" !<[9]> | \"x\""));
    expect(matcher.names_tokens(matcher.current()), "tokens to be named");
    expect(matcher.after_token(matcher.current(), 6, "a") == GrammarMatcher::kRefused, "another token to be refused");
    expect(matcher.may_end(matcher.after_token(matcher.current(), 6, "x")), "text to match beside tokens");
    const auto seven = matcher.after_token(matcher.current(), 7, "x?");
    expect(!matcher.names_tokens(seven), "text to follow");
    expect(matcher.after_token(seven, 1, "abc") == GrammarMatcher::kRefused, "no token within another");
    const auto text = matcher.after_token(seven, 1, "ab");
    expect(matcher.after_token(text, 9, "z") == GrammarMatcher::kRefused, "the excluded token to be refused");
    expect(matcher.may_end(matcher.after_token(text, 8, "z")), "any other token to be allowed");
});

const Test errors("grammar: errors quote the place, and not more", [] {
    expect_equal(refusal_of("root = \"a\""), "expecting ::= at = \"a\"");
    expect_equal(refusal_of("root ::= (\"a\""), "expecting ), but the text ends");
    expect_equal(refusal_of("root ::= \"a\" \\" + std::string(1000, 'x')),
                 "expecting newline or end at \\" + std::string(39, 'x'));
    expect_equal(refusal_of("root ::= \"\\q\""), "unknown escape at \\q\"");
    expect_equal(refusal_of("root ::= \"\\u12\""), "expecting 4 hex digits at 12\"");
    expect_equal(refusal_of("root ::= x"), "undefined rule x");
    expect_equal(refusal_of("x ::= \"a\""), "no rule is named root");
    expect_equal(refusal_of("root ::= <eight>"), "not one token: <eight>");
    expect_equal(refusal_of("root ::= root \"x\" | \"y\""), "left recursion");
    expect_equal(refusal_of("root ::= x\nx ::= x"), "no text matches");
    expect_equal(refusal_of("root ::= \"\xc3\""), "it is not valid UTF-8");
});

// All single bytes, and some longer texts.
std::vector<std::string> some_texts() {
    std::vector<std::string> texts;
    for (int byte = 0; byte < 256; ++byte) texts.push_back(std::string(1, static_cast<char>(byte)));
    for (const char* text : {"", "aa", "ab", "abc", "ab", "aab", "b\xC3", "\xC3\xA9", "\xA9t", "bbbb", "ca", "cab"}) {
        texts.push_back(text);
    }
    return texts;
}

const Test search("grammar: a search in the tree finds what asking for every token finds", [] {
    const auto      texts = some_texts();
    const TokenTree tree(texts, std::vector<bool>(texts.size()));
    std::mt19937    random(3);
    for (const char* gbnf : {"root ::= [ab]{0,3} (\"é\" | \"c\" root)*", "root ::= .{3,5}", "root ::= (\"a\"* \"b\"*)* \"ét\"?"}) {
        for (int round = 0; round < 20; ++round) {
            GrammarMatcher matcher(rules_of(gbnf));
            for (int i = 0; i < 12; ++i) {
                std::vector<TokenId> expected, found = tree.search(matcher, matcher.current());
                for (size_t token = 0; token < texts.size(); ++token) {
                    if (texts[token].empty()) continue;
                    const auto id    = static_cast<TokenId>(token);
                    const auto state = matcher.after_token(matcher.current(), id, tree.text(id));
                    if (state != GrammarMatcher::kRefused) expected.push_back(id);
                }
                std::sort(found.begin(), found.end());
                expect(found == expected, std::string("the same tokens for ") + gbnf);
                if (found.empty()) break;
                const TokenId next = found[random() % found.size()];
                matcher.accept(matcher.after_token(matcher.current(), next, tree.text(next)));
            }
        }
    }
});

const Test garbage("grammar: memory is bounded while the text grows", [] {
    // Each bracket makes the stack deeper, and each count is another state.
    GrammarMatcher matcher(rules_of("root ::= v\nv ::= \"[\" v \"]\" | \"(\" [a-z]{0,1000} \")\""));
    std::string    text;
    for (int depth = 0; depth < 200'000; ++depth) text += '[';
    text += "(" + std::string(900, 'x') + ")";
    for (int depth = 0; depth < 200'000; ++depth) text += ']';
    for (const char byte : text) {
        matcher.begin_call(nullptr);
        const auto state = matcher.after_byte(matcher.current(), byte);
        expect(state != GrammarMatcher::kRefused, "the text to match");
        matcher.accept(state);
    }
    expect(matcher.may_end(matcher.current()), "the text to end");
});

const Test limits("grammar: what exceeds a limit leaves the state as it was", [] {
    GrammarMatcher matcher(rules_of("root ::= s\ns ::= [a-z] s \"y\" | [a-z] s \"z\" | \"#\"\n"));
    const auto     grow = [&] {
        for (int i = 0; i < 64; ++i) {
            matcher.begin_call(nullptr);
            matcher.accept(matcher.after_byte(matcher.current(), 'a'));
        }
    };
    expect_throws<std::length_error>(grow);
    const auto before = matcher.current();
    expect_throws<std::length_error>(grow);
    expect_equal(matcher.current(), before);
    expect(follow(matcher, "#y") != GrammarMatcher::kRefused, "the text to go on");

    Deadline deadline;
    deadline.expire();
    expect_throws<ConstraintTimeout>([&] { matcher.begin_call(&deadline); });
});

// The text from the trigger on, after these tokens; empty if there is no trigger.
std::string from_trigger(const std::vector<GrammarTrigger>& all, const std::vector<std::string>& texts) {
    GrammarTriggers triggers(all);
    for (const std::string& text : texts) {
        if (!triggers.push(0, text)) continue;
        std::string result;
        for (const auto& piece : triggers.from_trigger()) result += (result.empty() ? "" : "|") + piece.text;
        return result;
    }
    return {};
}

const Test triggers("grammar: the text from a trigger on", [] {
    using Kind = GrammarTrigger::Kind;
    const std::string         long_text(2000, 'x');
    const std::vector<GrammarTrigger> word{{Kind::word, "<call>"}};
    expect_equal(from_trigger(word, {"a <ca", "ll", "> b"}), "<ca|ll|> b");
    expect_equal(from_trigger(word, {long_text, "<call", long_text, "y<call>"}), "<call>");
    expect_equal(from_trigger(word, {"<call", " >"}), "");
    const std::vector<GrammarTrigger> group{{Kind::pattern, "start(\\s+to)"}};
    expect_equal(from_trigger(group, {"x sta", "rt ", " to="}), " | to=");
    const std::vector<GrammarTrigger> whole{{Kind::full_pattern, "a|to"}, {Kind::pattern, "^b"}};
    expect_equal(from_trigger(whole, {"t", "o"}), "t|o");
    expect_equal(from_trigger(whole, {long_text, "to", "b"}), "");
});

}  // namespace
