#include "../native/check.h"
#include "compile-grammar.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "llama/schema/schema-grammar.h"

#include <common.h>

#include <cstdlib>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

// Whether the grammar of a schema accepts a JSON text as a whole.
bool allows(const std::string& schema, const std::string& json) {
    const auto grammar = compile(grammar_of_schema(schema, "response_format"));
    for (const TokenId token : common_tokenize(vocabulary("qwen2"), json, false, false)) {
        if (!grammar->allows(token)) return false;
        grammar->accept(token);
    }
    return grammar->allows(llama_vocab_eos(vocabulary("qwen2")));
}

struct Bounds {
    std::string keywords;
    double      least;
    bool        over;
    double      most;
    bool        under;
};

constexpr double kNone = 1e300;

const std::vector<Bounds> kBounds = {
    {R"("minimum":0)", 0, false, kNone, false},
    {R"("exclusiveMinimum":0)", 0, true, kNone, false},
    {R"("maximum":0)", -kNone, false, 0, false},
    {R"("exclusiveMaximum":0)", -kNone, false, 0, true},
    {R"("minimum":0,"maximum":1)", 0, false, 1, false},
    {R"("minimum":0,"exclusiveMaximum":1)", 0, false, 1, true},
    {R"("exclusiveMinimum":0,"exclusiveMaximum":1)", 0, true, 1, true},
    {R"("minimum":0.25,"maximum":0.5)", 0.25, false, 0.5, false},
    {R"("exclusiveMinimum":0.25,"exclusiveMaximum":0.5)", 0.25, true, 0.5, true},
    {R"("minimum":0.05,"exclusiveMaximum":0.051)", 0.05, false, 0.051, true},
    {R"("minimum":-1.5,"maximum":2.75)", -1.5, false, 2.75, false},
    {R"("exclusiveMinimum":-1.5,"exclusiveMaximum":2.75)", -1.5, true, 2.75, true},
    {R"("minimum":-3,"exclusiveMaximum":-1)", -3, false, -1, true},
    {R"("minimum":-0.5,"maximum":-0.25)", -0.5, false, -0.25, false},
    {R"("minimum":1,"maximum":1)", 1, false, 1, false},
    {R"("minimum":9.99,"maximum":120)", 9.99, false, 120, false},
    {R"("minimum":99.5)", 99.5, false, kNone, false},
    {R"("maximum":-99.5)", -kNone, false, -99.5, false},
    {R"("minimum":0,"exclusiveMinimum":0.5,"maximum":3)", 0.5, true, 3, false},
    {R"("minimum":1e-9,"maximum":1.000000001)", 1e-9, false, 1.000000001, false},
};

const std::vector<std::string> kNumbers = {
    "0",    "0.0",  "0.000000001", "0.05",   "0.0500", "0.0509999", "0.051", "0.2",    "0.25",
    "0.2500", "0.25001", "0.249999", "0.3", "0.4999", "0.5",    "0.50000", "0.500001", "0.75", "0.999",
    "1",    "1.0",  "1.000000001", "1.0000000011", "1.5", "2", "2.7",   "2.75",    "2.7500001", "2.8",
    "3",    "3.0",  "3.01",  "9.98",        "9.99",   "9.991",  "10",     "99.4",   "99.5",   "100.25",
    "119.9", "120", "120.0", "120.1",       "999999", "-0.2",   "-0.25",  "-0.3",   "-0.5",   "-0.51",
    "-1",   "-1.0", "-1.0001", "-1.5",      "-1.50",  "-1.51",  "-2.999", "-3",     "-3.001", "-99.4", "-99.5", "-1000",
};

const Test numbers("schema values: numbers within bounds are allowed, and no others", [] {
    for (const Bounds& bounds : kBounds) {
        const std::string schema = R"({"type":"number",)" + bounds.keywords + "}";
        for (const std::string& text : kNumbers) {
            const double n       = std::strtod(text.c_str(), nullptr);
            const bool   is_over = bounds.over ? n > bounds.least : n >= bounds.least;
            const bool   is_in   = is_over && (bounds.under ? n < bounds.most : n <= bounds.most);
            expect(allows(schema, text) == is_in, text + (is_in ? " is not allowed by " : " is allowed by ") + schema);
        }
    }
});

const Test beyond("schema values: bounds that a grammar cannot hold are passed over", [] {
    expect(allows(R"({"type":"number","minimum":1e15})", "2"), "a least number of 16 digits to be passed over");
    expect(allows(R"({"type":"number","maximum":1e15})", "123456"), "a number of 6 digits below one of 16");
    expect(!allows(R"({"type":"number","maximum":1e15})", "2e300"), "no number of 300 digits below one of 16");
    expect(allows(R"({"type":"number","minimum":1e-12})", "0.5"), "a number above a bound of 12 decimals");
    expect(!allows(R"({"type":"number","minimum":1e-12})", "0"), "a bound of 12 decimals to be enforced");
    expect(allows(R"({"type":"number","minimum":1e-30})", "0"), "a bound of 30 decimals to be passed over");
    expect(!allows(R"({"type":"number","minimum":5,"maximum":1e15})", "2"), "the other bound to be enforced");
    expect(!allows(R"({"type":"number","minimum":5})", "5e1"), "a number with a bound to have no exponent");
    expect(allows(R"({"type":"number"})", "5e1"), "any other to have one");
    expect(allows(R"({"type":["number","null"],"minimum":5})", "null"), "null beside a number");
});

const Test impossible("schema values: bounds that leave nothing are refused", [] {
    for (const char* bounds : {R"("minimum":2,"maximum":1)", R"("minimum":1,"exclusiveMaximum":1)",
                               R"("exclusiveMinimum":0.5,"maximum":0.5)"}) {
        const auto error = expect_throws<Error>(
            [&] { grammar_of_schema(std::string(R"({"type":"number",)") + bounds + "}", "response_format"); });
        expect(error.code() == ErrorCode::invalid_grammar, std::string("invalid_grammar for ") + bounds);
    }
});

struct Format {
    std::string              name;
    std::vector<std::string> good, bad;
};

const std::vector<Format> kFormats = {
    {"email",
     {"a@b.co", "first.last+tag@mail.example-site.org", "x_1@a1.b2.c3"},
     {"a", "a@b", "@b.co", "a@.co", "a..b@c.de", "a@-b.co", "a b@c.de", "a@b.co "}},
    {"hostname", {"a", "localhost", "mail.example-site.org", "xn--bcher-kva.example"}, {"", "-a", "a-", "a..b", "a_b", ".a"}},
    {"ipv4", {"0.0.0.0", "192.168.1.254", "255.255.255.255"}, {"256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.x"}},
    {"ipv6",
     {"::", "::1", "1::", "fe80::1", "2001:db8::ff00:42:8329", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"},
     {":", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "1:2:3:4:5:6:7::8"}},
    {"duration", {"P1D", "PT5M", "P1Y2M3DT4H5M6S", "P2W", "PT36H", "P3M"}, {"", "P", "PT", "1D", "P1H", "P1W2D", "PT1D", "P1D2M"}},
    {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000"}},
    {"date", {"2024-02-29", "2000-02-29", "2023-12-31"}, {"2024-2-29", "2024-13-01", "2023-02-29", "1900-02-29", "2024-04-31"}},
    {"time", {"23:59:59Z", "01:02:03.456+01:00"}, {"24:00:00Z", "01:02:03"}},
    {"date-time", {"2024-02-29T01:02:03Z"}, {"2024-02-29 01:02:03Z", "2024-02-29"}},
};

const Test formats("schema values: strings of a format are allowed, and no others", [] {
    for (const Format& format : kFormats) {
        const std::string schema = R"({"type":"string","format":")" + format.name + "\"}";
        for (const std::string& text : format.good) {
            expect(allows(schema, '"' + text + '"'), text + " is not allowed as " + format.name);
        }
        for (const std::string& text : format.bad) {
            expect(!allows(schema, '"' + text + '"'), text + " is allowed as " + format.name);
        }
    }
});

struct Pattern {
    std::string              pattern;  // as JSON
    std::vector<std::string> good, bad;  // JSON strings
};

const std::vector<Pattern> kPatterns = {
    {R"(^hello there indeed\\\\!$)", {R"("hello there indeed\\!")"}, {R"("hello there indeed\!")"}},
    {R"(^\"[a-z]{2}\"$)", {R"("\"go\"")"}, {R"(""go"")", R"("go")"}},
    {"^a.*$", {R"("a")", R"("a b\tc\"")"}, {"\"a\tb\"", R"("ab\n")", R"("b")"}},
    {"^[^/]+$", {R"("abc")", R"("a\"b")", R"("a\nb")"}, {R"("abc","admin":"yes")", R"("a/b")", R"("a\/b")", R"("")"}},
    {R"(^\\S\\d\\w\\s\\/$)", {R"("x7_ /")", R"("\"0a\t/")"}, {R"("x7_x/")", R"(" 7_ /")"}},
    {R"(^[\\u00e9\\n]$)", {"\"é\"", R"("\n")"}, {R"("\\")", R"("n")"}},
    {"b+", {R"("abc")", R"("b")"}, {R"("ac")", R"("")"}},
    {"^a|b$", {R"("ac")", R"("cb")"}, {R"("ca")"}},
    {R"(\\bfoo\\b)", {R"("a foo.")", R"("foo")"}, {R"("foot")"}},
    {"^(?:ab?){2}$", {R"("aab")"}, {R"("ab")"}},
};

const Test patterns("schema values: patterns apply to the text and not to its JSON", [] {
    for (const Pattern& each : kPatterns) {
        const std::string schema = R"({"type":"string","pattern":")" + each.pattern + "\"}";
        for (const std::string& text : each.good) expect(allows(schema, text), text + " is not allowed by " + schema);
        for (const std::string& text : each.bad) expect(!allows(schema, text), text + " is allowed by " + schema);
    }
});

const Test no_members("schema values: an object with empty properties has no members", [] {
    const std::string empty = R"({"type":"object","properties":{})";
    expect(allows(empty + "}", "{}") && !allows(empty + "}", R"({"p":1})"), "no members");
    expect(allows(empty + R"(,"additionalProperties":true})", R"({"p":1})"), "additional members");
    expect(allows(empty + R"(,"required":["p"]})", R"({"p":1})"), "required members");
});

}  // namespace
