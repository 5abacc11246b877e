#include "../native/check.h"
#include "chat-templates.h"
#include "compile-grammar.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "llama/chat/chat-template.h"
#include "llama/schema/schema-grammar.h"

#include <common.h>

#include <functional>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

std::shared_ptr<TokenConstraint> enforce(const std::string& schema) {
    return compile(grammar_of_schema(schema, "response_format"));
}

void expect_refused(const std::string& schema, const std::string& why = "") {
    const auto error = expect_throws<Error>([&] { enforce(schema); });
    expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar for " + schema.substr(0, 80));
    const std::string message = error.what();
    expect(message.size() < 1000, "a short message for " + schema.substr(0, 80));
    expect(message.find(why) != std::string::npos, "`" + why + "` in " + message);
    expect(message.find('\n') == std::string::npos && message.find("JSON schema") == message.rfind("JSON schema"),
           "that it is about a schema said once, in one line: " + message);
}

// Whether the grammar accepts a JSON text as a whole.
bool takes(const std::string& gbnf, const std::string& json) {
    const auto grammar = compile(gbnf);
    for (const TokenId token : common_tokenize(vocabulary("qwen2"), json, false, false)) {
        if (!grammar->allows(token)) return false;
        grammar->accept(token);
    }
    return grammar->allows(llama_vocab_eos(vocabulary("qwen2")));
}

bool allows(const std::string& schema, const std::string& json) {
    return takes(grammar_of_schema(schema, "response_format"), json);
}

std::string joined(size_t n, const std::function<std::string(std::string)>& part) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += (i > 0 ? "," : "") + part(std::to_string(i));
    return text;
}

std::string nested(const std::string& begin, size_t n, const std::string& middle, const std::string& end) {
    std::string text = middle;
    for (size_t i = 0; i < n; ++i) text = begin + text + end;
    return text;
}

std::string defs(const std::string& root, const std::string& definitions) {
    return "{" + root + R"(,"$defs":{)" + definitions + "}}";
}

const Test reversed("hostile schema: what ends before it begins is refused", [] {
    expect_refused(R"({"type":"string","minLength":5,"maxLength":2})", "maxLength is less than minLength");
    expect_refused(R"({"type":"array","minItems":3,"maxItems":0})", "maxItems is less than minItems");
    expect_refused(R"({"type":"array","items":{"type":"null"},"minItems":3,"maxItems":2})", "maxItems is less");
    expect_refused(R"({"type":"integer","minimum":5,"maximum":2})", "maximum is less than minimum");
    expect_refused(R"({"type":"integer","exclusiveMinimum":5,"exclusiveMaximum":6})", "maximum is less than minimum");
    expect_refused(R"({"type":"string","pattern":"^a{3,1}$"})", "ends before it begins");
    expect_refused(R"({"type":"string","pattern":"^(ab|c){3,1}$"})", "ends before it begins");
});

const Test counts("hostile schema: counts that are none are refused, and those beyond all limits passed over", [] {
    expect_refused(R"({"type":"string","minLength":-1})", "minLength must be");
    expect_refused(R"({"type":"array","maxItems":1.5})", "maxItems must be");
    expect_refused(R"({"type":"array","maxItems":"2"})", "maxItems must be");
    expect(allows(R"({"type":"string","minLength":2.0,"maxLength":1e9})", R"("abc")"), "two characters and more");
    expect(!allows(R"({"type":"string","minLength":2.0,"maxLength":1e9})", R"("a")"), "two characters and more");
    expect(allows(R"({"type":"array","minItems":1e300})", "[]"), "a count beyond all limits to be passed over");
    expect(allows(R"({"type":"array","items":{"type":"null"},"minItems":4000000000})", "[null]"), "the same of items");
});

const Test bounds("hostile schema: bounds of integers of any size", [] {
    const auto between = [](const char* from, const char* to) {
        return std::string(R"({"type":"integer","minimum":)") + from + R"(,"maximum":)" + to + "}";
    };
    expect(allows(between("-5", "10"), "7") && !allows(between("-5", "10"), "11"), "7 of -5 to 10");
    for (const char* huge : {"1e300", "18446744073709551615", "9223372036854775807"}) {
        expect(allows(between("0", huge), "12345"), std::string("any number up to ") + huge);
        expect(!allows(between("0", huge), "-12345"), std::string("no number below 0 up to ") + huge);
        expect_refused(between(huge, huge), "leave no integer");
    }
    expect(allows(between("-9223372036854775808", "5"), "-12345"), "any number down to the least");
    expect_refused(between("-1e300", "-9223372036854775808"), "leave no integer");
    expect(allows(R"({"type":"integer","minimum":123456789012345})", "123456789012346"), "15 digits");
    expect(!allows(R"({"type":"integer","minimum":123456789012345})", "123456789012344"), "15 digits");
    expect(allows(R"({"type":"integer","minimum":1,"exclusiveMinimum":4})", "5"), "the tighter of two bounds");
    expect(!allows(R"({"type":"integer","minimum":1,"exclusiveMinimum":4})", "4"), "the tighter of two bounds");
    expect_refused(R"({"type":"integer","exclusiveMinimum":9223372036854775807,"minimum":0})", "leave no integer");
    const std::string least = R"({"type":"integer","minimum":1005})", most = R"({"type":"integer","maximum":-1005})";
    for (const char* number : {"1005", "1010", "9000", "10000"}) {
        expect(allows(least, number) && allows(most, std::string("-") + number), std::string(number) + " is no less");
    }
    for (const char* number : {"15", "1004", "999", "01006"}) {
        expect(!allows(least, number) && !allows(most, std::string("-") + number), std::string(number) + " is less");
    }
});

const Test circles("hostile schema: references in a circle, in a chain, to the whole, and to nothing", [] {
    expect(allows(R"({"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/a"}}})", "{}"), "an empty object");
    expect(allows(R"({"$ref":"#"})", R"([1,{"a":null}])"), "anything");
    expect(allows(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})", "5"),
           "anything");
    const std::string tree = R"({"type":"object","properties":{"next":{"$ref":"#"}}})";
    expect(allows(tree, R"({"next":{"next":{}}})") && !allows(tree, R"({"next":5})"), "objects within each other");
    expect_refused(R"({"$ref":"#/$defs/a/b"})", "cannot resolve $ref #/$defs/a/b, there");
    expect_refused(R"({"$ref":"#/type/x","type":"string"})", "cannot resolve");
    expect_refused(R"({"$ref":5})", "must be a string");
    expect_refused(R"({"$ref":"#/$defs/a","$defs":{"a":[]}})", "must be an object");
    expect(allows(R"({"$ref":"https://example.com/a"})", "5"), "what is elsewhere to be passed over");
    expect(allows(R"({"$ref":"#/anyOf/1","anyOf":[{"type":"null"},{"type":"boolean"}]})", "true"), "an alternative");
    expect(allows(R"({"$ref":"#/$defs/a~1b~0","$defs":{"a/b~":{"type":"boolean"}}})", "true"), "an escaped name");
    const auto link = [](const std::string& i) {
        return "\"a" + i + R"(":{"anyOf":[{"$ref":"#/$defs/a)" + std::to_string(std::stoi(i) + 1) + "\"}]}";
    };
    const std::string anything = R"(,"a4000":{"type":"null"})";
    expect(allows(defs(R"("$ref":"#/$defs/a0")", joined(4000, link) + anything), "null"),
           "a long chain to be followed");
    const auto plain = [](const std::string& i) {
        return "\"a" + i + R"(":{"$ref":"#/$defs/a)" + std::to_string(std::stoi(i) + 1) + "\"}";
    };
    for (const char* root : {R"("$ref":"#/$defs/a0")", R"("allOf":[{"$ref":"#/$defs/a0"}])"}) {
        enforce(defs(root, joined(4000, plain) + R"(,"a4000":{"type":"object"})"));
    }
});

const Test doubled("hostile schema: definitions that refer twice to the next", [] {
    const auto twice = [](const char* kind) {
        return [kind](const std::string& i) {
            const std::string next = R"({"$ref":"#/$defs/a)" + std::to_string(std::stoi(i) + 1) + "\"}";
            return "\"a" + i + "\":{\"" + kind + "\":[" + next + "," + next + "]}";
        };
    };
    for (const char* kind : {"anyOf", "oneOf", "allOf", "items"}) {
        const std::string schema =
            defs(R"("$ref":"#/$defs/a0")", joined(40, twice(kind)) + R"(,"a40":{"enum":["x","y"]})");
        enforce(schema);
        // The handlers of some templates ask whether a parameter may be a string.
        const std::string parameters = defs(R"("type":"object","properties":{"a":{"$ref":"#/$defs/a0"}})",
                                            joined(40, twice(kind)) + R"(,"a40":{"type":"null"})");
        for (const char* name : {"Qwen3-Coder", "MiniMax-M2"}) {
            ChatTemplate(source_of(name))
                .render(
                    R"({"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f",)"
                    R"("parameters":)" +
                    parameters + "}}]}");
        }
    }
    enforce(nested(R"({"type":["string","object"],"allOf":[)", 30, "{}", "]}"));
    const auto schemas = [](const std::string&) { return std::string("{}"); };
    expect_refused(R"({"prefixItems":[)" + joined(40'000, schemas) + "]}", "more than 32,768");
});

const Test properties("hostile schema: thousands of properties, and names of any length and kind", [] {
    const auto        property = [](const std::string& i) { return "\"p" + i + R"(":{"type":"null"})"; };
    const std::string many     = R"({"type":"object","properties":{)" + joined(2000, property) + "}";
    expect(allows(many + "}", R"({"p7":null,"p1999":null})"), "two of many properties");
    expect(!allows(many + "}", R"({"p1999":null,"p7":null})"), "properties in their order");
    expect(allows(many + R"(,"additionalProperties":true})", R"({"p7":null,"q":1,"p":2})"), "others besides");
    expect(!allows(many + R"(,"additionalProperties":true})", R"({"p7":1})"), "not as others");
    const std::string mebi(size_t{100} << 10, '\'');
    const std::string strange = R"({"type":"object","properties":{")" + mebi + R"(":{"type":"null"}})";
    expect(allows(strange + "}", "{\"" + mebi + "\":null}"), "a long name");
    const std::string shorter(2000, '\'');
    const std::string additional = R"({"type":"object","properties":{")" + shorter +
                                   R"(":{"type":"null"}},)"
                                   R"("additionalProperties":{"type":"boolean"}})";
    expect(allows(additional, "{\"" + shorter + "\":null}"), "a name of 2,000 characters");
    expect(allows(additional, "{\"''\":true}"), "another name");
    expect(!allows(additional, "{\"" + shorter + "\":true}"), "the name not to be another");
    const std::string odd =
        R"({"type":"object","properties":{"]":{"type":"null"},"^\\":{"type":"null"},"-\"":{"type":"null"}},)"
        R"("additionalProperties":{"type":"boolean"}})";
    expect(allows(odd, R"({"]":null,"^\\":null,"-\"":null,"x":true,"":false})"), "names of odd characters");
    for (const char* name : {R"("]")", R"("^\\")", R"("-\"")"}) {
        expect(!allows(odd, std::string("{") + name + ":true}"), std::string(name) + " not to be another");
    }
    // A long name is not repeated for each of the many properties below it.
    enforce(R"({"type":"object","properties":{")" + mebi + "\":" + many + "}}}");
    // Names that differ only in characters that rule names cannot have.
    const auto alike = [](const std::string& i) {
        return "\"" + std::string(std::stoul(i) % 90 + 1, '_') + std::string(std::stoul(i) / 90 + 1, '.') +
               R"(":{"enum":[)" + i + "]}";
    };
    enforce(R"({"type":"object","properties":{)" + joined(4000, alike) + "}}");
});

const Test escapes("hostile schema: escapes in the names of properties are taken whole", [] {
    const std::string quote =
        R"({"type":"object","properties":{"a\"b":{"type":"null"}},"additionalProperties":{"type":"string"}})";
    for (const char* text : {R"({"a\"b":null})", R"({"a\"bc":"x"})", R"({"a\"c":"x"})", R"({"a\"":"x"})",
                             R"({"a":"x"})", R"({"a\\":"x"})", R"({"a\/b":"x"})", R"({"a\nb":"x"})",
                             R"({"a\u0021b":"x"})", R"({"a\u002A":"x"})", R"({"a\u1022b":"x"})"}) {
        expect(allows(quote, text), std::string(text) + " of a name with a quotation mark");
    }
    // The last one is the property itself, escaped differently.
    for (const char* text : {R"({"a\":"x"})", R"({"a\q":"x"})", R"({"a\u":"x"})", R"({"a\u12":"x"})",
                             R"({"a\u12g4":"x"})", R"({"a\"b":"x"})", R"({"a\u0022b":"x"})"}) {
        expect(!allows(quote, text), std::string("not ") + text + " of a name with a quotation mark");
    }
    const std::string several = R"({"type":"object","properties":{"\u001f":{"type":"null"},"\n":{"type":"null"},)"
                                R"("\\":{"type":"null"},"/":{"type":"null"},"é":{"type":"null"}},)"
                                R"("additionalProperties":{"type":"string"}})";
    expect(allows(several, R"({"\u001f":null,"\n":null,"\\":null,"/":null,"é":null,"\t":"x","\"":"x"})"),
           "each name, and others");
    expect(allows(several, R"({"\u00e8":"x","\u00AF":"x"})"), "others that begin alike");
    expect(allows(several, R"({"\u001fa":"x","\na":"x","\\a":"x","\u001eA":"x","\u000d":"x"})"), "longer names");
    for (const char* name : {R"(\u001f)", R"(\u001F)", R"(\u00)", R"(\u001)", R"(\n)", R"(\u000a)", R"(\u000A)",
                             R"(\\)", R"(\)", R"(\u005c)", R"(\/)", R"(\u002f)", R"(\u00E9)"}) {
        expect(!allows(several, std::string("{\"") + name + "\":\"x\"}"), std::string(name) + " not to be another");
    }
});

const Test long_definitions("schema: definitions whose names are as long as rules' names, or alike", [] {
    const auto refers = [](const std::string& name) {
        return R"({"$ref":"#/definitions/)" + name + R"(","definitions":{")" + name +
               R"(":{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"$ref":"#/definitions/)" + name +
               R"("}},"required":["a"]}}})";
    };
    for (const size_t length : {1, 90, 110, 111, 112, 113, 114, 120, 128, 500}) {
        const std::string schema = refers(std::string(length, 'n')), text = std::to_string(length) + " characters";
        expect(allows(schema, R"({"a":"x","b":{"a":"y"}})"), "what obeys a definition whose name has " + text);
        expect(!allows(schema, R"({"a":"z"})") && !allows(schema, R"("x")"), "nothing else than one with " + text);
    }
    // Rule names cannot differ in this way, and the first definition refers to the second.
    const std::string alike = defs(R"("$ref":"#/$defs/a.b")",
                                   R"("a.b":{"type":"object","properties":{"v":{"$ref":"#/$defs/a b"}}},)"
                                   R"("a b":{"enum":["x"]})");
    expect(allows(alike, R"({"v":"x"})") && !allows(alike, R"("x")"), "definitions whose names are alike");
});

const Test choices("schema: every choice of optional properties is allowed, in their order, and no other", [] {
    const std::string four    = R"("a":{"const":1},"b":{"const":2},"c":{"const":3},"d":{"const":4})";
    const auto        text_of = [](unsigned choice) {
        std::string text;
        for (unsigned i = 0; i < 4; ++i) {
            if ((choice >> i & 1U) == 0) continue;
            text += (text.empty() ? "\"" : ",\"") + std::string(1, static_cast<char>('a' + i)) +
                    "\":" + std::to_string(i + 1);
        }
        return text;
    };
    for (const unsigned required : {0U, 1U, 2U, 5U, 15U}) {
        std::string names;
        for (unsigned i = 0; i < 4; ++i) {
            if ((required >> i & 1U) != 0)
                names += (names.empty() ? "\"" : ",\"") + std::string(1, static_cast<char>('a' + i)) + "\"";
        }
        const std::string schema = R"({"type":"object","properties":{)" + four + R"(},"required":[)" + names + "]";
        const std::string exact  = grammar_of_schema(schema + "}", ""),
                          open   = grammar_of_schema(schema + R"(,"additionalProperties":{"const":0}})", "");
        for (unsigned choice = 0; choice < 16; ++choice) {
            // Required properties come first.
            const std::string first = text_of(choice & required), then = text_of(choice & ~required);
            const std::string text  = first + (first.empty() || then.empty() ? "" : ",") + then;
            const bool        valid = (choice & required) == required;
            expect(takes(exact, "{" + text + "}") == valid, text + " of " + schema);
            expect(takes(open, "{" + text + "}") == valid, text + " of the open " + schema);
            const std::string more = text + (text.empty() ? "" : ",") + R"("x":0,"y":0)";
            expect(takes(open, "{" + more + "}") == valid, more + " of the open " + schema);
            expect(!takes(exact, "{" + more + "}") && !takes(exact, "{" + text + ",}"), "nothing more than " + schema);
        }
        expect(!takes(exact, R"({"b":2,"a":1,"c":3,"d":4})") || required == 2, "another order of " + schema);
    }
});

const Test members("hostile schema: no object has so many members that finding them takes long", [] {
    const auto property = [](const std::string& i) { return "\"" + i + R"(":{})"; };
    expect_refused(R"({"properties":{)" + joined(5001, property) + "}}", "more than 5,000 members");
    expect_refused(R"({"x":[{"y":{)" + joined(50'000, [](const std::string& i) { return "\"" + i + "\":1"; }) + "}}]}",
                   "more than 5,000 members");
    enforce(R"({"properties":{)" + joined(5000, property) + "}}");
    const std::string call = R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[)"
                             R"({"id":"1","type":"function","function":{"name":"f","arguments":")";
    std::string arguments  = "{" + joined(100'000, [](const std::string& i) { return R"(\")" + i + R"(\":1)"; }) + "}";
    const ChatTemplate& chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const auto         error = expect_throws<Error>([&] { chat.render(call + arguments + R"("}}]}]})"); });
    expect(error.code() == ErrorCode::template_failed, "template_failed");
    const std::string kwargs = R"({"messages":[{"role":"user","content":"Hi"}],"chat_template_kwargs":{"a":{)" +
                               joined(100'000, [](const std::string& i) { return "\"" + i + "\":1"; }) + "}}}";
    expect(expect_throws<Error>([&] { chat.render(kwargs); }).code() == ErrorCode::template_failed, "template_failed");
});

const Test shared("hostile schema: parts of allOf that many references share", [] {
    const auto        property  = [](const std::string& i) { return "\"p" + i + R"(":{"type":"null"})"; };
    const std::string part      = R"("a":{"type":"object","properties":{)" + joined(1000, property) + "}}";
    const auto        reference = [](const std::string&) { return std::string(R"({"$ref":"#/$defs/a"})"); };
    enforce(defs("\"allOf\":[" + joined(5000, reference) + "]", part));
    const auto value = [](const std::string& i) { return i; };
    enforce(defs("\"allOf\":[" + joined(5000, reference) + "]", R"("a":{"enum":[)" + joined(20'000, value) + "]}"));
    const std::string twice = R"({"allOf":[{"type":"object","properties":{"a":{"type":"null"}}},)"
                              R"({"type":"object","properties":{"a":{"type":"null"}}}]})";
    expect(allows(R"({"allOf":[{"type":"string","minLength":2}]})", R"("ab")"), "a part alone, whatever it is");
    expect(allows(twice, R"({"a":null})") && !allows(twice, R"({"a":null,"a":null})"), "a shared property once");
});

const Test enums("hostile schema: enums of many values cost what their differences do", [] {
    const auto value = [](const std::string& i) { return "\"value " + i + "\""; };
    for (const std::string& schema :
         {R"({"enum":[)" + joined(20'000, value) + "]}", R"({"anyOf":[)" + joined(8'000, [&](const std::string& i) {
                                                             return R"({"const":)" + value(i) + "}";
                                                         }) + "]}"}) {
        const auto grammar = enforce(schema);
        for (const TokenId token : common_tokenize(vocabulary("qwen2"), "\"value 7777\"", false, false)) {
            // One stack for each value would exceed the limit of ambiguity.
            expect(grammar->allowed().size() < 1000, "few tokens to be allowed");
            expect(grammar->allows(token), "the value to be allowed");
            grammar->accept(token);
        }
    }
    expect(allows(R"({"type":"string","enum":[]})", R"("x")"), "an empty enum to be passed over");
    expect(allows(R"({"const":")" + std::string(400'000, 'x') + R"("})", "\"" + std::string(400'000, 'x') + "\""),
           "a long constant");
});

const Test patterns("hostile schema: patterns", [] {
    const auto pattern = [](const std::string& text) { return R"({"type":"string","pattern":")" + text + R"("})"; };
    for (const char* broken : {R"(a\\)", "^(a$", "^a)$", "^*$", "^[a$", "^{2}$"}) expect_refused(pattern(broken));
    for (const char* passed :
         {R"(\\p{L}{1000})", "^[]$", "^[^]$", "^[]a]$", "^a{-1}$", "^a{1,2,3}$", "^a{x}$", "^a{99999}$", "^a{0,4001}$", "^(?=a)$",
          "^a{99999999999999999999}$", "^a{2$", "^a]$"}) {
        expect(allows(pattern(passed), R"("anything")"), std::string("to be passed over: ") + passed);
    }
    expect(allows(pattern("^((a{2}){2}){2}$"), R"("aaaaaaaa")"), "nested counts");
    enforce(pattern("^(((a{1000}){1000}){1000}){1000}$"));
    enforce(pattern("^(((a*)*)*)*$"));
    enforce(pattern("^" + std::string(99, '(') + "a" + std::string(99, ')') + "$"));
    expect(allows(pattern("^" + std::string(50'000, '(') + "a" + std::string(50'000, ')') + "$"), R"("x")"),
           "a deep one");
    enforce(pattern("^(" + std::string(100'000, 'a') + "){2000}$"));
    const auto many = [&](const std::string& i) { return "\"" + i + "\":" + pattern("^[" + i + "]{2}(?=x)$"); };
    enforce(R"({"type":"object","properties":{)" + joined(5000, many) + "}}");
});

const Test shapes("hostile schema: what is no schema is refused with its place", [] {
    expect_refused(R"({"properties":[]})", "properties must be an object");
    expect_refused(R"({"type":"object","properties":{"a":5}})", "#/properties/a");
    expect_refused(R"({"type":"oops"})", "unrecognized type");
    expect_refused(R"({"type":[]})", "type must not be empty");
    expect_refused(R"({"type":["string","null","string","null","string","null","string","null"]})",
                   "more than the 7 types");
    expect_refused(R"({"anyOf":[]})", "must not be empty");
    expect_refused(R"({"anyOf":{}})", "must be an array");
    expect_refused(R"({"enum":5})", "enum must be an array");
    expect_refused("[", "");
    expect_refused("5", "must be an object");
    expect_refused("\"\xff\"", "");
    expect_refused("{\"type\":\"" + std::string(300'000, 'x') + "\"}", "unrecognized type");
    expect_refused(std::string(600'000, ' ') + "{}", "longer than 512 KiB");
    expect_refused(nested("[", 100'000, "", "]"), "nested deeper");
    expect_refused(nested(R"({"items":)", 100, "{}", "}"), "nested deeper");
    expect(allows(nested(R"({"items":)", 60, "{}", "}"), "[]"), "60 levels");
    expect(allows(R"({"type":"object","required":5,"properties":{"v":true,"w":false}})", R"({"v":[1]})"), "booleans");
    expect(allows("true", "[1]"), "anything");
});

const Test all_of_itself("hostile schema: a property within allOf that leads back to that allOf", [] {
    const std::string node = R"("n":{"type":"object","properties":{"v":{"type":"null"},"next":)";
    const std::string both = R"({"allOf":[{"$ref":"#/$defs/n"},{"properties":{"w":{"type":"null"}}}]}}})";
    const std::string list = R"({"v":null,"next":{"v":null,"next":{"v":null,"w":null},"w":null}})";
    for (const char* root : {R"("$ref":"#/$defs/n")", R"("allOf":[{"$ref":"#/$defs/n"},{}])"}) {
        expect(allows(defs(root, node + both), list), "objects within each other");
        expect(!allows(defs(root, node + both), R"({"v":null,"w":null})"), "only those within to have both parts");
    }
    // A part alone is a reference, and refers to itself as often as one likes.
    const std::string alone = R"({"anyOf":[{"type":"null"},{"allOf":[{"$ref":"#/$defs/n"}]}]}},"required":["v","next"]})";
    expect(allows(defs(R"("$ref":"#/$defs/n")", node + alone), R"({"v":null,"next":{"v":null,"next":null}})"), "a list");
});

const Test two_tools("schema: tools whose definitions share a name keep each its own", [] {
    const auto tool = [](const std::string& name) {
        return R"({"type":"function","function":{"name":")" + name +
               R"(","parameters":{"type":"object","properties":{"x":{"$ref":"#/$defs/item"}},"required":["x"],)"
               R"("$defs":{"item":{"enum":["of )" +
               name + R"("]}}}}})";
    };
    const ChatTemplate&  chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const RenderedPrompt prompt =
        chat.render(R"({"messages":[{"role":"user","content":"Hi"}],"tool_choice":"required","tools":[)" + tool("one") +
                    "," + tool("two") + "]}");
    expect(prompt.grammar.has_value(), "a grammar");
    for (const char* value : {"of one", "of two"}) {
        expect(prompt.grammar->gbnf.find(value) != std::string::npos,
               std::string("`") + value + "` in " + prompt.grammar->gbnf);
    }
});

}  // namespace
