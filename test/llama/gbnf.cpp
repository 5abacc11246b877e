#include "../native/check.h"

#include "llama/sampling/gbnf.h"

#include <string>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test either("gbnf: of two grammars either is taken, and their names stay apart, whatever their texts say", [] {
    expect_equal(
        either_of("root ::= \"root \\\" a\" a-1{2,3} [\\]a] <think>\na-1 ::= \"x\"\n", "root ::= b+\nb ::= \"\"\n"),
        std::string("root ::= a-root | b-root\n"
                    "a-root ::= \"root \\\" a\" a-a-1{2,3} [\\]a] <think>\na-a-1 ::= \"x\"\n\n"
                    "b-root ::= b-b+\nb-b ::= \"\"\n"));
});

const Test after("gbnf: a text before a grammar", [] {
    expect_equal(after_text("say \"hi\"\n", "root ::= word\nword ::= [a-z]+\n"),
                 std::string("root ::= \"say \\\"hi\\\"\\n\" b-root\nb-root ::= b-word\nb-word ::= [a-z]+\n"));
});

const Test thought("gbnf: a block of thought must end", [] {
    const std::string rest = "space ::= (\" \" | )\n";
    expect_equal(
        with_closed_reasoning("a ::= (\"b\" | )\nroot ::= (\"<think>\" until-6 (\"</think>\" | ))? json\n" + rest),
        "a ::= (\"b\" | )\nroot ::= (\"<think>\" until-6 \"</think>\")? json\n" + rest);
});

const Test fence("gbnf: the code fence goes, from wherever it is, and from no text of a schema", [] {
    expect_equal(without_fence("root ::= format\nformat ::= \"```json\" space schema space \"```\"\n"),
                 std::string("root ::= format\nformat ::= schema\n"));
    const std::string text = "root ::= \"\\\"```json\\\" space\"\n";
    expect_equal(without_fence(text), text);
});

}  // namespace
