#include "chat-templates.h"
#include "random-strings.h"
#include "test-files.h"

#include "core/error-code.h"
#include "llama/calls/repeated-calls.h"
#include "llama/chat/chat-template.h"

#include <json.h>
#include <log.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>

// Random strings of the grammar of each template and tool set must be exactly one call, whole and in pieces. The calls are
// written to the file that CHASQUI_CALLS names; tool-calls.test.ts validates them. CHASQUI_STRINGS: strings per grammar.
// CHASQUI_TOOL_SETS: a file of other tool sets.
namespace {

using namespace chasqui;
using namespace chasqui::test;

const std::string kConversation = R"("messages": [{"role": "user", "content": "Hello"}], "parallel_tool_calls": false)";

struct Choice {
    const char *name, *fields;
};
const Choice kChoices[] = {
    {"required", R"("tool_choice": "required")"},
    {"auto", R"("tool_choice": "auto")"},
    {"without reasoning", R"("tool_choice": "required", "chat_template_kwargs": {"enable_thinking": false})"},
};

common_json as_functions(const common_json& tools) {
    common_json all = common_json::array();
    for (size_t i = 0; i < tools.size(); ++i) {
        all.push_back(common_json{{"type", "function"}, {"function", tools.at(i)}});
    }
    return all;
}

// The closing tag of reasoning that the prompt opens.
std::string closed_reasoning(const RenderedPrompt& prompt, const std::string& text) {
    if (!prompt.reasoning) return {};
    const std::string& end    = prompt.format->generation_prompt;
    const size_t       opened = end.rfind(prompt.reasoning->start);
    if (opened == std::string::npos) return {};
    for (const std::string& tag : prompt.reasoning->ends) {
        const size_t closed = end.rfind(tag);
        if (closed != std::string::npos && closed > opened) return {};
    }
    for (const std::string& tag : prompt.reasoning->ends) {
        if (tag[0] != '\n' && text.compare(0, tag.size(), tag) != 0) return tag;
    }
    return {};
}

// Text that was cut off within a call is the beginning of the call, without an invented end.
void expect_beginning(const ChatFormat& format, std::string string, const std::string& call, const std::string& what) {
    while (!string.empty() && (static_cast<unsigned char>(string.back()) & 0xC0) == 0x80) string.pop_back();
    if (!string.empty() && static_cast<unsigned char>(string.back()) >= 0xC0) string.pop_back();
    const Reply cut = read(format, string, string.size() + 1);
    if (cut.calls.empty()) return;
    const std::string arguments = cut.calls[0].substr(cut.calls[0].find('('), cut.calls[0].size() - 1 - cut.calls[0].find('('));
    expect(call.compare(call.find('('), arguments.size(), arguments) == 0, what + "its beginning: " + string + " as " + cut.calls[0]);
}

// Writes the calls to `calls`.
void walk_calls(const std::string& name, const std::string& set, const common_json& tools, const Choice& choice, int n,
                std::mt19937& random, std::ofstream& calls) {
    const std::string    what   = "";
    const std::string    fields = kConversation + "," + choice.fields;
    const std::string    body   = "{" + fields + ",\"tools\":" + as_functions(tools).dump() + "}";
    const RenderedPrompt prompt = template_of(name).render(body);
    expect(prompt.unenforced.empty(), what + "all keywords to be enforced");
    const bool is_lazy = std::string(choice.name) == "auto";
    expect(prompt.grammar.has_value(), what + "a grammar");
    RandomStrings    strings(prompt.grammar->gbnf);
    const ChatParser shared(*prompt.format);  // parsers of a format load its rules once while one of them exists
    for (int i = 0; i < n; ++i) {
        std::string string = strings.next(random, 20 + i * 53 % 200);
        if (is_lazy) {
            string = closed_reasoning(prompt, string) + string;
        } else {
            const std::string& begin = prompt.format->generation_prompt;
            expect(string.compare(0, begin.size(), begin) == 0, what + "to begin where the prompt ends");
            string.erase(0, begin.size());
        }
        const Reply whole = read(*prompt.format, string, string.size() + 1);
        expect(whole.calls.size() == 1 && whole.content.empty(), what + "one call: " + string);
        if (i % 4 == 0) {
            const Reply pieces = read(*prompt.format, string, 1 + static_cast<size_t>(i) % 5);
            expect(pieces.calls == whole.calls, what + "the same in pieces: " + string);
            expect_beginning(*prompt.format, string.substr(0, random() % string.size()), whole.calls[0], what);
        }
        common_json line = {{"template", name}, {"set", set}, {"choice", choice.name}, {"text", string}};
        line["call"]     = whole.calls[0];
        calls << line.dump_safe() << "\n";
    }
}

const Test walk("tool calls: strings of the grammar of every template are one call", [] {
    common_log_pause(common_log_main());
    const char*       count = std::getenv("CHASQUI_STRINGS");
    const int         n     = count != nullptr ? std::atoi(count) : 4;
    const char*       path  = std::getenv("CHASQUI_CALLS");
    std::ofstream     calls(path != nullptr ? path : "/dev/null");
    const char*       given = std::getenv("CHASQUI_TOOL_SETS");
    std::ifstream     file(given != nullptr ? given : kToolSets);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const common_json sets = common_json::parse(text);
    std::mt19937      random{1};
    std::string       wrong;
    for (const std::string& name : template_names()) {
        for (const auto& [set, tools] : sets.items()) {
            for (const Choice& choice : kChoices) {
                try {
                    walk_calls(name, set, tools, choice, n, random, calls);
                } catch (const std::exception& error) {
                    wrong += "\n" + name + ", " + set + ", " + choice.name + ": " + error.what();
                }
            }
        }
    }
    expect(wrong.empty(), wrong);
});

// Formats with raw strings. The last two have their own arrays and objects.
const char* const kOwnFormats[] = {"Qwen3-Coder", "MiniMax-M3", "google-gemma-4-31B-it"};

RenderedPrompt rendered_with(const char* name, const std::string& parameters) {
    const std::string tools = R"([{"type":"function","function":{"name":"f","parameters":)" + parameters + "}}]";
    return template_of(name).render("{" + kConversation + "," + kChoices[0].fields + ",\"tools\":" + tools + "}");
}

const Test reported("tool calls: keywords of whole arguments that a format does not enforce are reported", [] {
    const std::set<std::string> expected = {"parameters.minProperties", "parameters.oneOf"};
    for (const char* name : kOwnFormats) {
        const RenderedPrompt prompt = rendered_with(name, R"({"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},
            "oneOf":[{"required":["c"]}],"minProperties":1,"required":5})");
        expect(unenforced_in(prompt) == expected, std::string(name) + ": the keywords of the arguments to be reported");
    }
});

const Test pieces("tool calls: arguments of any type are the same in pieces as whole", [] {
    std::mt19937 random{1};
    for (const char* name : kOwnFormats) {
        const RenderedPrompt prompt = rendered_with(name, R"({"type":"object","required":["any","grid","map"],"properties":{
            "any":{},"grid":{"type":"array","items":{"type":"array"}},"map":{"type":"object","properties":{"x":{}}}}})");
        RandomStrings        strings(prompt.grammar->gbnf);
        for (int i = 0; i < 40; ++i) {
            const std::string string = strings.next(random, 20 + 4 * i).substr(prompt.format->generation_prompt.size());
            const Reply       whole  = read(*prompt.format, string, string.size() + 1);
            for (const size_t piece : {1, 3}) {
                expect(read(*prompt.format, string, piece).calls == whole.calls, std::string(name) + ", the same in pieces: " + string);
            }
        }
    }
});

const Test combinations("tool calls: alternatives that multiply are refused", [] {
    const std::string itself = R"({"type":"object","allOf":[{"$ref":"#"},{"allOf":[{"$ref":"#"}]}]})";
    std::string       defs   = R"("d0":{"type":"string"})";
    for (int i = 1; i < 31; ++i) {
        const std::string before = R"({"$ref":"#/$defs/d)" + std::to_string(i - 1) + "\"}";
        defs += ",\"d" + std::to_string(i) + R"(":{"anyOf":[)" + before + R"(,{"anyOf":[)" + before + "]}]}";
    }
    const std::string doubling = R"({"type":"object","properties":{"a":{"$ref":"#/$defs/d30"}},"$defs":{)" + defs + "}}";
    for (const char* name : kOwnFormats) {
        for (const std::string& parameters : {itself, doubling}) {
            const auto error = expect_throws<Error>([&] { rendered_with(name, parameters); });
            expect(error.code() == ErrorCode::invalid_grammar, std::string(name) + ": invalid_grammar, but got " + error.what());
        }
    }
});

const Test limits("tool calls: keywords of raw strings beyond a limit are named", [] {
    const auto unenforced = [](const std::string& keyword) {
        return unenforced_in(rendered_with(kOwnFormats[0], R"({"properties":{"a":{"type":"string",)" + keyword + "}}}"));
    };
    using Names = std::set<std::string>;
    expect(unenforced(R"("maxLength":1000)").empty(), "a length that is enforced");
    expect(unenforced(R"("maxLength":15000)") == Names{"maxLength"}, "a long one beside the closing tag");
    expect(unenforced(R"("maxLength":1e30)") == Names{"maxLength"}, "a length beyond all limits");
    expect(unenforced(R"("pattern":"(a|b)*a(a|b){30}")") == Names{"pattern"}, "an automaton that is too large");
    expect(unenforced(R"("pattern":"(?=a)b")") == Names{"pattern"}, "a pattern that looks ahead");
    expect(unenforced(R"("format":"color")") == Names{"format"}, "a format that JSON does not enforce either");
});

const Test pointers("tool calls: references lead to any part of the arguments", [] {
    std::mt19937 random{1};
    for (const char* name : {kOwnFormats[0], kOwnFormats[1], kOwnFormats[2], "LFM2.5-8B-A1B"}) {
        const RenderedPrompt prompt = rendered_with(name, R"({"type":"object","required":["a","b","c","d"],"additionalProperties":false,
            "$id":"https://example.com/x#","$defs":{"value":{"const":7}},"properties":{
            "a":{"type":"array","items":{"$ref":"#/properties/b"},"maxItems":2},"b":{"enum":[1,2]},"c":{"$ref":"#/properties/e/anyOf/1"},
            "d":{"$ref":"#/%24defs/value"},"e":{"anyOf":[{"type":"null"},{"const":"yes"}]}}})");
        expect(prompt.unenforced.empty(), std::string(name) + " to enforce all of it");
        RandomStrings strings(prompt.grammar->gbnf);
        int           n_read = 0;
        for (int i = 0; i < 40; ++i) {
            const std::string string = strings.next(random, 200).substr(prompt.format->generation_prompt.size());
            const auto        calls  = read(*prompt.format, string, string.size() + 1).calls;
            if (calls.empty()) continue;  // cut off
            const common_json arguments = common_json::parse_no_throw(calls[0].substr(2, calls[0].size() - 3));
            if (!arguments.is_object()) continue;
            ++n_read;
            const std::string b = arguments.at("b").dump();
            expect((b == "1" || b == "2") && arguments.at("c").dump() == "\"yes\"" && arguments.at("d").dump() == "7", string);
            for (const common_json& item : arguments.at("a")) expect(item.dump() == "1" || item.dump() == "2", string);
        }
        expect(n_read > 10, std::string(name) + ": complete calls");
    }
});

const Test unresolved("tool calls: references by name are followed, and others reported or refused", [] {
    const auto parameters = [](const std::string& reference) {
        return R"({"properties":{"a":{"$ref":")" + reference +
               R"("},"b":{"anyOf":[{"type":"null"},{"type":"string","$anchor":"name","format":"color"}]}}})";
    };
    for (const char* name : kOwnFormats) {
        expect(unenforced_in(rendered_with(name, parameters("#name"))) == std::set<std::string>{"format"}, "a schema with a name");
        const auto referring = rendered_with(name, R"({"$ref":"#/$defs/x","$defs":{"x":{"anyOf":[{"required":["a"]},{"required":["b"]}]}}})");
        expect(unenforced_in(referring) == std::set<std::string>{"anyOf"}, "a keyword of the arguments behind a reference");
        for (const char* none : {"$ref", "$dynamicRef"}) {
            const auto error = expect_throws<Error>(
                [&] { rendered_with(name, R"({"properties":{"a":{")" + std::string(none) + R"(":"#nope"}}})"); });
            expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar");
            expect(std::string(error.what()).find("properties/a") != std::string::npos, "the place, but got " + std::string(error.what()));
        }
        expect(unenforced_in(rendered_with(name, parameters("https://example.com/a"))) == std::set<std::string>{"$ref", "format"},
               "a schema of another document");
        for (const char* index : {"x", "2", "99999999999999999999999"}) {
            const auto error = expect_throws<Error>([&] { rendered_with(name, parameters(std::string("#/properties/b/anyOf/") + index)); });
            expect(error.code() == ErrorCode::invalid_grammar, index);
        }
    }
});

const Test beside("tool calls: keywords beside a reference and dynamic references apply", [] {
    std::mt19937 random{1};
    for (const char* name : kOwnFormats) {
        const RenderedPrompt prompt = rendered_with(name, R"({"type":"object","required":["a","b","c"],"properties":{
            "a":{"$ref":"#/$defs/text","enum":["x","zzz"]},"b":{"$dynamicRef":"#text","description":"B"},"c":{"$ref":"#/$defs/text"}},
            "$defs":{"text":{"$dynamicAnchor":"text","type":"string","pattern":"^[xy]$"}}})");
        expect(prompt.unenforced.empty(), std::string(name) + " to enforce all of it");
        RandomStrings strings(prompt.grammar->gbnf);
        for (int i = 0; i < 20; ++i) {
            const std::string string = strings.next(random, 200).substr(prompt.format->generation_prompt.size());
            const auto        calls  = read(*prompt.format, string, string.size() + 1).calls;
            expect_equal(calls.size(), size_t{1});
            const common_json arguments = common_json::parse(calls[0].substr(2, calls[0].size() - 3));
            expect_equal(arguments.at("a").dump(), "\"x\"");
            for (const char* each : {"b", "c"}) expect(arguments.at(each).dump() == "\"x\"" || arguments.at(each).dump() == "\"y\"", string);
        }
    }
});

const Test repeated("tool calls: an argument that several parts describe obeys all of them", [] {
    std::mt19937 random{1};
    for (const char* name : kOwnFormats) {
        const RenderedPrompt prompt = rendered_with(name, R"({"required":["a","b"],"properties":{"a":{"type":"string"},"b":{}},
            "allOf":[{"properties":{"a":{"enum":["x","y",5]},"b":{"type":"integer"}}},{"properties":{"b":{"enum":[7,"z"]}}}]})");
        RandomStrings strings(prompt.grammar->gbnf);
        int           n_read = 0;
        for (int i = 0; i < 20; ++i) {
            const std::string string = strings.next(random, 200).substr(prompt.format->generation_prompt.size());
            const auto        calls  = read(*prompt.format, string, string.size() + 1).calls;
            if (calls.empty() || calls[0].back() != ')') continue;
            ++n_read;
            const bool is_right = calls[0].find(R"("x")") != std::string::npos || calls[0].find(R"("y")") != std::string::npos;
            expect(is_right && calls[0].find('7') != std::string::npos, std::string(name) + ": " + calls[0]);
        }
        expect(n_read > 5, std::string(name) + ": complete calls");
    }
});

const Test deep_calls("tool calls: equal arguments of any depth are found without recursion", [] {
    const std::string deep = R"({"city": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
    std::vector<common_chat_tool_call> calls(2, common_chat_tool_call{"get_weather", deep, ""});
    drop_repeated_calls(calls, true);
    expect_equal(calls.size(), size_t{1});
});

const Test equal_calls("tool calls: required calls are not repeated, and no part of a repeated one is reported", [] {
    const auto call = [](const std::string& arguments) {
        return "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + arguments + "}\n</tool_call>";
    };
    const std::string lima = R"({"city": "Lima", "in": ["C", 1]})", reversed = R"({"in":["C",1],"city":"Lima"})";
    const std::string text = call(lima) + "\n" + call(R"({"city": "Quito"})");
    const std::string last = "\n" + call(reversed) + "\n" + call(R"({"city": "La Paz"})"), cut = call(R"({"city": "Li)");
    const ChatTemplate& chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    for (const bool required : {true, false}) {
        const RenderedPrompt prompt = chat.render(R"({"messages": [{"role": "user", "content": "Hello"}], "parallel_tool_calls": true,
            "tool_choice": ")" + std::string(required ? "required" : "auto") + "\"," + kTools + "}");
        for (const size_t piece : {size_t{1}, size_t{5}, size_t{1000}}) {
            const auto calls = read(*prompt.format, text + last, piece).calls;
            expect_equal(calls.size(), required ? size_t{2} : size_t{4});
            if (!required) continue;
            const std::string half = cut.substr(0, cut.find("Li") + 1);
            expect_equal(read(*prompt.format, text + "\n" + half, piece).calls.size(), size_t{2});
            expect_equal(read(*prompt.format, text + "\n" + half + "o", piece).calls.size(), size_t{3});
        }
    }
});

}  // namespace
