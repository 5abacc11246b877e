#include "chat-templates.h"
#include "random-strings.h"

#include "core/error-code.h"
#include "llama/chat/chat-template.h"

#include <json.h>
#include <log.h>

#include <random>
#include <set>
#include <string>
#include <vector>

// The text before a call, and values of calls that templates write as Python does.
namespace {

using namespace chasqui;
using namespace chasqui::test;

const char* const kCall  = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>";
const char* const kCoder = "<tool_call>\n<function=get_weather>\n<parameter=city>\nLima\n</parameter>\n</function>\n</tool_call>";

struct Case {
    const char *name, *call;
};
const Case kCalls[] = {
    {"Qwen-Qwen3-0.6B", kCall},
    {"Qwen3-Coder", kCoder},
    {"GLM-4.6", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Lima</arg_value>\n</tool_call>"},
    {"MiniMax-M2", "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Lima</parameter>\n</invoke>\n"
                   "</minimax:tool_call>"},
};

RenderedPrompt rendered(const char* name, const std::string& fields) {
    return template_of(name).render(R"({"messages": [{"role": "user", "content": "Hello"}],
        "chat_template_kwargs": {"enable_thinking": false},)" + fields + "}");
}

common_json arguments_of(const Reply& reply) {
    expect_equal(reply.calls.size(), size_t{1});
    const size_t begin = reply.calls[0].find('(') + 1;
    return common_json::parse(reply.calls[0].substr(begin, reply.calls[0].size() - 1 - begin));
}

const Test breaks("call texts: line breaks between a text and a call are not content", [] {
    for (const Case& c : kCalls) {
        const RenderedPrompt prompt = rendered(c.name, kTools);
        const std::string    think  = prompt.format->generation_prompt.find("</think>") == std::string::npos &&
                                           prompt.format->generation_prompt.find("<think>") != std::string::npos
                                          ? "</think>\n\n"
                                          : "";
        for (const char* text : {"One.\n\nTwo.", "- a\n  - b\n\n\nc"}) {
            for (const char* gap : {"", "\n", "\n\n"}) {
                for (const size_t piece : {1, 3, 1000}) {
                    const Reply reply = read(*prompt.format, think + text + gap + c.call, piece);
                    expect_equal(reply.content, std::string(text));
                    expect_equal(arguments_of(reply).dump(), std::string(R"({"city":"Lima"})"));
                    expect_equal(read(*prompt.format, think + text + gap, piece).content, std::string(text) + gap);
                }
            }
        }
    }
});

const Test none("call texts: None of Qwen3-Coder is null where the schema permits null", [] {
    const auto tools = [](const char* type) {
        return R"("tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
            "properties": {"a": {"type": )" + std::string(type) + R"(}}, "required": ["a"]}}}])";
    };
    const struct {
        const char *type, *text, *value;
    } kValues[] = {{R"(["string", "null"])", "None", "null"},   {R"(["string", "null"])", "None.", "\"None.\""},
                   {R"(["string", "null"])", "null", "null"},   {R"("string")", "None", "\"None\""},
                   {R"(["integer", "null"])", "None", "null"},  {R"(["integer", "null"])", "12", "12"},
                   {R"(["boolean", "string", "null"])", "None", "null"}};
    for (const auto& each : kValues) {
        const RenderedPrompt prompt = rendered("Qwen3-Coder", tools(each.type));
        const std::string text = "<tool_call>\n<function=f>\n<parameter=a>\n" + std::string(each.text) +
                                 "\n</parameter>\n</function>\n</tool_call>";
        for (const size_t piece : {1, 1000}) {
            expect_equal(arguments_of(read(*prompt.format, text, piece)).dump(), "{\"a\":" + std::string(each.value) + "}");
        }
    }
});

// The arguments of strings of the grammar.
std::vector<common_json> walked(const RenderedPrompt& prompt, int n) {
    std::mt19937             random{1};
    RandomStrings            strings(prompt.grammar->gbnf);
    std::vector<common_json> all;
    for (int i = 0; i < n; ++i) {
        const std::string string = strings.next(random, 200).substr(prompt.format->generation_prompt.size());
        const Reply       whole  = read(*prompt.format, string, string.size() + 1);
        expect(read(*prompt.format, string, 3).calls == whole.calls, "the same in pieces: " + string);
        all.push_back(arguments_of(whole));
    }
    return all;
}

std::string required_call(const std::string& parameters) {
    return R"("parallel_tool_calls": false, "tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f",
        "parameters": )" + parameters + "}}]";
}

const Test free_members("call texts: members without a name in the schema obey additionalProperties, or it is reported", [] {
    common_log_pause(common_log_main());
    const std::set<std::string> reported = {"parameters.additionalProperties"};
    const std::string free = R"({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
        "additionalProperties": {"type": "integer"}})";
    for (const std::string& name : template_names()) {
        const RenderedPrompt prompt = rendered(name.c_str(), required_call(free));
        int                  n_free = 0;
        for (const common_json& arguments : walked(prompt, 40)) {
            expect(arguments.contains("a") && arguments.at("a").is_boolean(), name + ": " + arguments.dump());
            for (const auto& [key, value] : arguments.items()) expect(key == "a" || value.is_number(), name + ": " + arguments.dump());
            n_free += arguments.size() > 1 ? 1 : 0;
        }
        expect(n_free > 0 ? prompt.unenforced.empty() : unenforced_in(prompt) == reported, name + ": other members, or a report");
    }
    const RenderedPrompt restricted = rendered("Qwen3-Coder", required_call(R"({"type": "object", "additionalProperties": true,
        "maxProperties": 1})"));
    expect(unenforced_in(restricted).count("parameters.additionalProperties") == 1, "a report of a restricted number");
});

const Test repeats("call texts: a member that is repeated keeps its first value", [] {
    const RenderedPrompt prompt = rendered("Qwen3-Coder", required_call(R"({"type": "object", "additionalProperties": true})"));
    const auto           member = [](const std::string& value) { return "<parameter=a>\n" + value + "\n</parameter>\n"; };
    const std::string    text = "<tool_call>\n<function=f>\n" + member("1") + member("2") + "</function>\n</tool_call>";
    for (const size_t piece : {1, 1000}) {
        expect_equal(arguments_of(read(*prompt.format, text, piece)).dump(), std::string(R"({"a":1})"));
    }
});

const Test alternatives("call texts: members obey one alternative of anyOf", [] {
    for (const char* name : {"Qwen3-Coder", "GLM-4.6", "MiniMax-M2", "MiniMax-M3", "google-gemma-4-31B-it"}) {
        const RenderedPrompt prompt = rendered(name, required_call(R"({"type": "object", "anyOf": [
            {"properties": {"a": {"type": "integer"}, "c": {"type": "null"}}, "required": ["a"]},
            {"properties": {"b": {"type": "boolean"}, "c": {"type": "integer"}}, "required": ["b"]}]})"));
        expect(prompt.unenforced.empty(), std::string(name) + " to enforce all of it");
        std::set<std::string> keys;
        for (const common_json& arguments : walked(prompt, 40)) {
            const bool has_a = arguments.contains("a"), has_c = arguments.contains("c");
            expect(has_a != arguments.contains("b"), std::string(name) + ": " + arguments.dump());
            expect(!has_c || arguments.at("c").is_null() == has_a, std::string(name) + ": " + arguments.dump());
            for (const auto& [key, value] : arguments.items()) keys.insert(key);
        }
        expect_equal(name + std::to_string(keys.size()), name + std::string("3"));
    }
});

const Test beside_nested("call texts: keywords beside the alternatives of an object in the arguments apply", [] {
    const std::string own = R"("type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "boolean"}},
        "additionalProperties": false)";
    const char* const kChoices[] = {R"([{"required": ["x"]}, {"required": ["y"]}])",
                                    R"([{"required": ["x", "y"]}, {"properties": {"x": {"const": 5}}, "required": ["x"]}])"};
    for (const char* name : {"MiniMax-M3", "google-gemma-4-31B-it", "Kimi-K3"}) {
        for (const char* choice : kChoices) {
            const std::string    object = "{" + own + R"(, "anyOf": )" + choice + "}";
            const RenderedPrompt prompt =
                rendered(name, required_call(R"({"type": "object", "required": ["o"], "properties": {"o": )" + object + "}}"));
            for (const common_json& arguments : walked(prompt, 20)) {
                const common_json& o = arguments.at("o");
                const std::string  what = std::string(name) + ": " + arguments.dump();
                expect(o.is_object() && o.size() > 0, what);
                expect(!o.contains("x") || o.at("x").is_number_integer(), what);
                expect(!o.contains("y") || o.at("y").is_boolean(), what);
            }
        }
    }
});

const Test any_value("call texts: an argument of any type is JSON or text, and a form that cannot be written is left out", [] {
    const RenderedPrompt any = rendered("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", required_call(R"({"required": ["a", "b"]})"));
    for (const common_json& arguments : walked(any, 60)) expect_equal(arguments.size(), size_t{2});
    // A text 1 is the number in the other form.
    const RenderedPrompt one = rendered("Qwen3-Coder", required_call(R"({"oneOf": [
        {"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"a": {"const": "1"}}, "required": ["a"]}]})"));
    for (const common_json& arguments : walked(one, 5)) expect_equal(arguments.at("a").dump(), std::string("1"));
});

const Test overlaps("call texts: alternatives that a format cannot tell apart are reported", [] {
    const auto names_of = [](const char* name, const std::string& parameters) {
        return unenforced_in(rendered(name, required_call(parameters)));
    };
    const std::set<std::string> one_of = {"parameters.oneOf"}, any_of = {"parameters.anyOf"};
    // An object with any `a` fulfills both.
    expect(names_of("Qwen3-Coder", R"({"oneOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"a": {"maxLength": 3}}, "required": ["a"]}]})") == one_of, "alternatives that overlap");
    std::string many;
    for (int i = 0; i < 17; ++i) many += (i > 0 ? "," : "") + (R"({"properties": {"a": {"const": )" + std::to_string(i) + "}}}");
    expect(names_of("Qwen3-Coder", R"({"anyOf": [)" + many + "]}") == any_of, "too many alternatives");
    const std::string lists = R"({"anyOf": [{"properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
        {"properties": {"a": {"type": "array", "items": {"type": "string"}}}}]})";
    expect(names_of("MiniMax-M3", lists) == any_of, "elements of different types");
    expect(names_of("Qwen3-Coder", lists).empty(), "arrays of different types");
});

const Test closed("call texts: additionalProperties of one part apply to the members of others", [] {
    for (const char* name : {"Qwen3-Coder", "GLM-4.6", "MiniMax-M3", "google-gemma-4-31B-it"}) {
        const RenderedPrompt prompt = rendered(name, required_call(R"({"type": "object", "properties": {"a": {"type": "integer"},
            "never": false}, "allOf": [{"properties": {"b": {"type": "integer"}}}], "additionalProperties": false})"));
        for (const common_json& arguments : walked(prompt, 20)) {
            expect(arguments.size() == (arguments.contains("a") ? 1 : 0), std::string(name) + ": " + arguments.dump());
        }
        const auto error = expect_throws<Error>(
            [&] { rendered(name, required_call(R"({"required": ["b"], "additionalProperties": false})")); });
        expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar");
    }
});

}  // namespace
