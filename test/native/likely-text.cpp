#include "check.h"

#include "core/grammar-draft.h"
#include "core/grammar/gbnf-parser.h"
#include "core/grammar/likely-text.h"

#include <string>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const std::string kSpace = "space ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}\n";

// The text that is predicted after `written`.
std::string predicted(const std::string& gbnf, const std::string& written, size_t n_max = 64) {
    GrammarMatcher matcher(parse_gbnf(gbnf, [](std::string_view) -> std::optional<TokenId> { return 7; }));
    LikelyText     likely;
    matcher.begin_call(nullptr);
    const GrammarMatcher::State before = matcher.current();
    GrammarMatcher::State       state  = before;
    for (const char byte : written) state = matcher.after_byte(state, byte);
    expect(state != GrammarMatcher::kRefused, "the grammar to accept " + written);
    likely.learn(matcher, before, written);
    return likely.after(matcher, state, n_max);
}

const Test certain("likely-text: as long as one character can follow, up to a choice or the end", [] {
    expect_equal(predicted("root ::= \"abc\" [xy] \"def\"", ""), "abc");
    expect_equal(predicted("root ::= \"abc\" [xy] \"def\"", "abcx"), "def");
    expect_equal(predicted("root ::= \"ab\" (\"cat\" | \"car\")", "a"), "bca");
    expect_equal(predicted("root ::= \"a\" \"b\"*", ""), "a");
    expect_equal(predicted("root ::= \"a b\\n\\tc\"", ""), "a b\n\tc");
    expect_equal(predicted("root ::= \"a\" <x> \"b\"", ""), "a");
    expect_equal(predicted("root ::= [a-z] \"b\"", ""), "");
    expect_equal(predicted("root ::= \"ab\"{50}", "", 4), "abab");
});

const Test whole("likely-text: no part of a character", [] {
    expect_equal(predicted("root ::= \"a\" [а-б]", ""), "a");
    expect_equal(predicted("root ::= \"aб\" [а-я]", ""), "aб");
});

const Test spaces("likely-text: optional white space as before between the same characters", [] {
    const std::string pairs = "root ::= \"{\" space pair (\",\" space pair)* space \"}\"\n"
                              "pair ::= \"\\\"key\\\"\" space \":\" space [\"] [a-z ,]* [\"]\n" + kSpace;
    expect_equal(predicted(pairs, ""), "{\"key\": \"");
    expect_equal(predicted(pairs, "{\"key\":\"a\","), " \"key\":\"");
    expect_equal(predicted(pairs, "{\n  \"key\" : \"a\",\n  \"key\" : \"a\","), "\n  \"key\" : \"");
    expect_equal(predicted(pairs, "{\n  \"key\": \"a\",\n  \"key\": \"a\",\n "), " \"key\": \"");
    expect_equal(predicted(pairs, "{\"key\":\"a\",\"key\":\"a, b\","), "\"key\":\"");
    // White space other than before.
    expect_equal(predicted(pairs, "{\"key\":\"a\",\n\t\"key\":\"a\",\n "), "\"key\":\"");
});

const Test rates("grammar-draft: the last token has a rate of its own", [] {
    GrammarDraft draft;
    const auto   expected = [&] { return draft.expected_hits(3); };
    draft.propose({1, 2, 3}, 0);
    const double at_first = expected()[2];
    for (int i = 0; i < 20; ++i) {
        draft.propose({1, 2, 3}, 0);
        draft.catch_up({1, 2, 9});
        expect(draft.proposal().empty(), "a proposal to hold once");
    }
    draft.propose({1, 2, 3}, 0);
    expect(expected()[1] > 1.8 && expected()[2] - expected()[1] < 0.1 && expected()[2] < at_first, "two hits, no third");
    expect_equal(draft.expected_hits(1).size(), size_t{1});
    for (int i = 0; i < 20; ++i) {
        draft.propose({1, 2, 3}, 0);
        draft.catch_up({8});
    }
    draft.propose({1, 2, 3}, 0);
    expect(expected()[2] < 0.1, "no hits");
});

}  // namespace
