#include "chat-templates.h"

#include "core/error-code.h"
#include "core/reasoning-pairs.h"
#include "llama/chat/chat-template.h"

#include <log.h>

#include <string>

using namespace chasqui;
using namespace chasqui::test;

namespace {

struct Family {
    const char* name;
    const char* output;
    const char* reasoning;
    const char* content;
    const char* arguments;  // of one call of get_weather; nullptr: no call
};

const Family kFamilies[] = {
    {"Qwen-Qwen2.5-7B-Instruct", "Let me look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>",
     "", "Let me look.", "{\"city\": \"Lima\"}"},
    {"Qwen-Qwen3-0.6B", "<think>\nThey want the weather.\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>",
     "They want the weather.\n", "", "{\"city\": \"Lima\"}"},
    {"Qwen-Qwen3-0.6B", "<think>\nEasy.\n</think>\n\nIt is <b>12</b>.", "Easy.\n", "It is <b>12</b>.", nullptr},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>",
     "", "", "{\"city\": \"Lima\"}"},
    {"meta-llama-Llama-3.1-8B-Instruct", "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Lima\"}}", "", "", "{\"city\": \"Lima\"}"},
    {"mistralai-Mistral-Nemo-Instruct-2407", "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}, \"id\": \"123456789\"}]",
     "", "", "{\"city\": \"Lima\"}"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "First, think.\n</think>\n\nThe answer.", "First, think.\n", "\n\nThe answer.", nullptr},
    {"Qwen-Qwen2.5-7B-Instruct",
     "<think>A <tool_call> might do.</think>\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>",
     "A <tool_call> might do.", "", "{\"city\": \"Lima\"}"},
    {"google-gemma-2-2b-it", "Just text with a < and a {.", "", "Just text with a < and a {.", nullptr},
    {"openai-gpt-oss-120b", "<|channel|>analysis<|message|>Hm, weather.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Lima\"}",
     "Hm, weather.", "", "{\"city\": \"Lima\"}"},
    {"meetkai-functionary-medium-v3.2", "get_weather\n{\"city\": \"Lima\"}", "", "", "{\"city\": \"Lima\"}"},
    {"google-gemma-4-31B-it", "<|tool_call>call:get_weather{city:<|\"|>Lima<|\"|>}<tool_call|>", "", "", "{\"city\":\"Lima\"}"},
    {"Qwen3-Coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nLima\n</parameter>\n</function>\n</tool_call>",
     "", "", "{\"city\":\"Lima\"}"},
};

const std::string kQuestion = R"("messages": [{"role": "user", "content": "Weather in Lima?"}])";

const Test families("chat: tool calls and reasoning of a dozen model families, whole and byte by byte", [] {
    common_log_pause(common_log_main());
    for (const Family& family : kFamilies) {
        const ChatTemplate& chat = template_of(family.name);
        const bool          calls = family.arguments != nullptr;
        const RenderedPrompt prompt = chat.render("{" + kQuestion + (calls ? std::string(",") + kTools : "") + "}");
        const std::string   what   = std::string(family.name) + ": ";
        if (!prompt.format) {
            expect(!calls, what + "a format for tool calls");
            continue;
        }
        for (const size_t piece : {size_t{1}, size_t{7}, std::string(family.output).size()}) {
            const Reply reply = read(*prompt.format, family.output, piece);
            expect_equal(what + reply.reasoning, what + family.reasoning);
            expect_equal(what + reply.content, what + family.content);
            expect_equal(what + std::to_string(reply.calls.size()), what + std::to_string(calls ? 1 : 0));
            if (calls) expect_equal(what + reply.calls[0], what + "get_weather(" + family.arguments + ")");
        }
    }
});

const Test cut("chat: a call that is cut off has no arguments but those that came", [] {
    const ChatTemplate&  chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const RenderedPrompt prompt = chat.render("{" + kQuestion + "," + kTools + "}");
    const std::string    call   = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": ";
    for (const std::string arguments : {"", "{", "{\"city\": \"Li"}) {
        const Reply reply = read(*prompt.format, call + arguments, 7);
        expect_equal(reply.calls.size(), size_t{1});
        expect_equal(reply.calls[0], "get_weather(" + arguments + ")");
    }
});

std::string repeated(const std::string& text, size_t n) {
    std::string all;
    for (size_t i = 0; i < n; ++i) all += text;
    return all;
}

const Test brackets("chat: brackets in text, reasoning and strings do not stop the parser", [] {
    const std::string code     = repeated("void f() {\n", 600);
    const std::string call     = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>";
    const std::string in_json  = "{\"city\": \"" + repeated("([{", 600) + "\"}";
    const std::string raw_call = "<tool_call>\n<function=get_weather>\n<parameter=city>\n";
    const struct {
        const char* name;
        std::string output, reasoning, content, arguments;
    } kCases[] = {
        {"Qwen-Qwen2.5-7B-Instruct", code + call, "", code.substr(0, code.size() - 1), "{\"city\": \"Lima\"}"},
        {"Qwen-Qwen3-0.6B", "<think>\n" + code + "</think>\n\n" + call, code, "", "{\"city\": \"Lima\"}"},
        {"Qwen-Qwen2.5-7B-Instruct", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + in_json + "}\n</tool_call>", "", "", in_json},
        {"Qwen3-Coder", raw_call + repeated("([{", 600) + "\n</parameter>\n</function>\n</tool_call>", "", "",
         "{\"city\":\"" + repeated("([{", 600) + "\"}"},
    };
    for (const auto& each : kCases) {
        const ChatTemplate&  chat = template_of(each.name);
        const RenderedPrompt prompt = chat.render("{" + kQuestion + "," + kTools + "}");
        for (const size_t piece : {size_t{97}, each.output.size()}) {
            const Reply reply = read(*prompt.format, each.output, piece);
            expect_equal(reply.reasoning, each.reasoning);
            expect_equal(reply.content, each.content);
            expect_equal(reply.calls.size(), size_t{1});
            expect_equal(reply.calls[0], "get_weather(" + each.arguments + ")");
        }
    }
});

const Test deep("chat: a call nested too deeply does not overflow the stack", [] {
    const std::string tree =
        R"("tools": [{"type": "function", "function": {"name": "grow", "parameters": {"type": "object",
        "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}}}}}}])";
    const std::string next = "]<]minimax[>[";
    const struct {
        const char* name;
        std::string open, level, inner, unlevel, close;
    } kFormats[] = {
        {"Qwen-Qwen2.5-7B-Instruct", "<tool_call>\n{\"name\": \"grow\", \"arguments\": ", "{\"a\":", "{}", "}", "}\n</tool_call>"},
        {"google-gemma-4-31B-it", "<|tool_call>call:grow{", "a:{", "", "}", "}<tool_call|>"},
        {"MiniMax-M3", next + "<tool_call>\n" + next + "<invoke name=\"grow\">", next + "<a>", "", next + "</a>",
         next + "</invoke>\n" + next + "</tool_call>"},
    };
    for (const auto& each : kFormats) {
        const ChatTemplate&  chat = template_of(each.name);
        const RenderedPrompt prompt = chat.render("{" + kQuestion + "," + tree + R"(,"chat_template_kwargs": {"enable_thinking": false}})");
        for (const size_t levels : {size_t{100}, size_t{100'000}}) {
            const std::string text = each.open + repeated(each.level, levels) + each.inner + repeated(each.unlevel, levels) + each.close;
            const Reply       reply    = read(*prompt.format, text, text.size());
            const bool        is_whole = reply.calls.size() == 1 && reply.content.empty();
            expect(is_whole == (levels == 100), std::string(each.name) + ": " + std::to_string(levels) + " levels");
            if (levels > 100) expect_equal(reply.content, text);
        }
    }
});

const Test odd("chat: what does not fit the format is content, all of it and once", [] {
    const ChatTemplate&  chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const RenderedPrompt prompt = chat.render("{" + kQuestion + "," + kTools + "}");
    for (const std::string& text :
         {std::string("Hi <tool_call>\n{\"name\": \"nobody\", \"arguments\": 5}\n</tool_call> bye"),
          std::string("<tool_call>\n{broken"), std::string("a <tool_call> b </tool_call> c <tool_call>"),
          "Deep " + std::string(5000, '['), std::string("<tool_call>\n") + std::string(5000, '{')}) {
        for (const size_t piece : {size_t{1}, size_t{50}, text.size()}) {
            const Reply reply = read(*prompt.format, text, piece);
            expect_equal(reply.calls.size(), size_t{0});
            expect_equal(reply.content, text);
        }
    }
});

const Test continued("chat: a trailing assistant message is continued, and its text is not reported again", [] {
    for (const char* name : {"Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct"}) {
        const ChatTemplate&  chat = template_of(name);
        const RenderedPrompt prompt = chat.render(
            R"({"messages": [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "One, two,"}]})");
        expect(prompt.text.size() > 9 && prompt.text.substr(prompt.text.size() - 9) == "One, two,",
               std::string(name) + " to continue the message");
        expect(prompt.format.has_value(), "a format");
        const Reply reply = read(*prompt.format, " three.", 2);
        expect_equal(reply.content, " three.");
        expect_equal(reply.reasoning, "");
    }
});

const Test detected("chat: without tags of the template, the usual reasoning tags are recognized at the beginning only", [] {
    size_t n_detected = 0;
    for (const std::string& name : template_names()) {
        const ChatTemplate& chat = template_of(name);
        for (const bool with_tools : {false, true}) {
            const RenderedPrompt prompt = chat.render("{" + kQuestion + (with_tools ? std::string(",") + kTools : "") + "}");
            if (!prompt.reasoning || !prompt.reasoning->is_detected) continue;
            ++n_detected;
            const auto expect_reply = [&](const std::string& text, const std::string& reasoning, const std::string& content) {
                for (const size_t piece : {size_t{1}, size_t{3}, text.size()}) {
                    const Reply reply = read(*prompt.format, text, piece);
                    expect_equal(name + ": " + reply.reasoning, name + ": " + reasoning);
                    expect_equal(name + ": " + reply.content, name + ": " + content);
                    expect_equal(reply.calls.size(), size_t{0});
                }
            };
            for (const ReasoningPair& pair : usual_reasoning_pairs()) {
                const std::string thought = "A <b> or " + pair.ends[0].substr(0, 3) + " ü?\n";
                expect_reply("\n" + pair.start + "\n" + thought + pair.ends[0] + "\n\nYes.", thought, "Yes.");
                expect_reply(pair.start + "Cut " + pair.ends[0].substr(0, 2), "Cut " + pair.ends[0].substr(0, 2), "");
                expect_reply("Say " + pair.start + "x" + pair.ends[0], "", "Say " + pair.start + "x" + pair.ends[0]);
            }
            expect_reply("<think></think>Yes.", "", "Yes.");
            expect_reply("<thinker> a < b", "", "<thinker> a < b");
            expect_reply("<th", "", "<th");
        }
    }
    expect(n_detected > 30, "templates without tags: " + std::to_string(n_detected));
});

const Test undelayed("chat: text with angle brackets is not delayed", [] {
    const ChatTemplate&  chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const RenderedPrompt prompt = chat.render("{" + kQuestion + "}");
    ChatParser           parser(*prompt.format);
    for (const std::string token : {"<b", "> ", "<", "think>", " </think>", "\n"}) {
        const std::vector<ChatDelta> deltas = parser.push(token, false);
        expect_equal(deltas.size(), size_t{1});
        expect_equal(deltas.at(0).content, token);
    }
    expect_equal(parser.reasoning_units(), uint32_t{0});
    expect_equal(parser.n_parses(), uint32_t{0});
});

const Test counted("chat: the end of detected reasoning is known", [] {
    const ChatTemplate&  chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const RenderedPrompt prompt = chat.render("{" + kQuestion + "}");
    ChatParser           parser(*prompt.format);
    parser.push("\n<think>Hm", false);
    parser.push(".</think>\nYes", true);
    expect_equal(parser.reasoning_units(), uint32_t{11});
});

const Test plain("chat: a schema without reasoning is a grammar, and there is no format", [] {
    const ChatTemplate&  chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const RenderedPrompt prompt = chat.render("{" + kQuestion + "}");
    expect(!prompt.grammar, "no grammar");
    const RenderedPrompt json = chat.render("{" + kQuestion + R"(,"json_schema": {"type": "object"}})");
    expect(!json.format && json.grammar && !json.grammar->lazy, "a grammar, and no format");
    expect_equal(json.text, prompt.text);
});

const Test errors("chat: schemas that cannot be enforced are named", [] {
    const ChatTemplate& chat = template_of("Qwen-Qwen2.5-7B-Instruct");
    const auto         broken = expect_throws<Error>([&] {
        chat.render("{" + kQuestion + R"(,"json_schema": {"type": "object", "properties": {"a": {"type": "wrong"}}}})");
    });
    expect(broken.code() == ErrorCode::invalid_grammar, "invalid_grammar");
    expect(std::string(broken.what()).find("properties/a") != std::string::npos, "the place in the schema");
});

}  // namespace
