#include "chat-templates.h"
#include "vocabulary.h"

#include "llama/chat/chat-template.h"
#include "llama/sampling/grammar.h"

#include <common.h>
#include <log.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kQuestion = R"({"role": "user", "content": "Weather in Lima?"})";
const std::string kCall     = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>";

std::string body(const std::string& more = "") { return "{\"messages\": [" + kQuestion + "]," + kTools + more + "}"; }

// Some templates open reasoning in the prompt, which has to end before anything else begins.
std::string beginning_of(const RenderedPrompt& prompt) {
    const std::string& end = prompt.format->generation_prompt;
    return contains(end, "<think>") && !contains(end, "</think>") ? "Hm.</think>" : "";
}

// The templates of real models that have no form for tools.
std::vector<std::string> names_without_tools() {
    common_log_pause(common_log_main());
    std::vector<std::string> names;
    for (const std::string& name : template_names()) {
        if (template_of(name).capabilities().generic_tools) names.push_back(name);
    }
    return names;
}

const Test all("chat: every real template takes tools, those without a form for them in a general one", [] {
    const std::vector<std::string> without = names_without_tools();
    for (const std::string& name : template_names()) {
        expect(template_of(name).capabilities().tools, name + " to take tools");
    }
    expect(!without.empty() && without.size() < 10, "templates without tools: " + std::to_string(without.size()));
    expect(!template_of("Qwen-Qwen2.5-7B-Instruct").capabilities().generic_tools, "Qwen to have its own form");
});

// Gemma demands that user and assistant take turns, and takes no system message.
const Test told("chat: without a form for tools, they are described, and calls and results told as text", [] {
    const std::string call = R"({"id": "call12345", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\": \"Lima\"}"}})";
    const std::string messages =
        R"([{"role": "system", "content": "Be terse."}, )" + kQuestion +
        R"(, {"role": "assistant", "content": "I look.", "tool_calls": [)" + call + "," + call + R"(]},
            {"role": "tool", "tool_call_id": "call12345", "content": "Overcast"},
            {"role": "tool", "tool_call_id": "call12346", "content": "12 degrees"},
            {"role": "user", "content": "Well?"}])";
    for (const std::string& name : names_without_tools()) {
        const ChatTemplate& chat = template_of(name);
        const std::string  text  = chat.render("{\"messages\": " + messages + "," + kTools + "}").text;
        const std::string  parts[] = {
            "Be terse.", "<tools>", "\"name\":\"get_weather\"", "</tools>", "Weather in Lima?", "I look.", kCall + "\n" + kCall,
            "<tool_response>\nOvercast\n</tool_response>\n<tool_response>\n12 degrees\n</tool_response>\nWell?"};
        size_t at = 0;
        for (const std::string& part : parts) {
            at = text.find(part, at);
            expect(at != std::string::npos, name + " to render " + part + " in order:\n" + text);
        }
        expect(!contains(text.substr(text.find("</tools>")), "Be terse."), name + " to describe tools once");
        const std::string forbidden = chat.render("{\"messages\": " + messages + "," + kTools + R"(,"tool_choice": "none"})").text;
        expect_equal(forbidden, text);
        const std::string none = chat.render("{\"messages\": " + messages + "}").text;
        expect(contains(none, kCall) && !contains(none, "<tools>"), name + " to tell calls where no tools are offered");
    }
});

const Test read_again("chat: without a form for tools, calls are read and streamed as in others", [] {
    for (const std::string& name : names_without_tools()) {
        const ChatTemplate&  chat = template_of(name);
        const RenderedPrompt prompt = chat.render(body());
        expect(prompt.format.has_value(), name + " to have a format");
        const std::string begins = beginning_of(prompt);
        for (const size_t piece : {size_t{1}, size_t{7}, size_t{500}}) {
            const Reply one = read(*prompt.format, begins + "I look.\n" + kCall, piece);
            expect_equal(one.content, "I look.");
            expect_equal(one.calls.size(), size_t{1});
            expect_equal(one.calls.at(0), R"(get_weather({"city": "Lima"}))");
            expect_equal(read(*prompt.format, begins + kCall + "\n" + kCall, piece).calls.size(), size_t{2});
            const Reply none = read(*prompt.format, begins + "Just text with a < and a {.", piece);
            expect_equal(none.content, "Just text with a < and a {.");
            expect_equal(none.calls.size(), size_t{0});
        }
        ChatParser  parser(*prompt.format, 0);
        std::string arguments;
        const std::string begun = begins + kCall.substr(0, kCall.find("ma\""));
        for (const char c : begun) {
            for (const ChatDelta& delta : parser.push(std::string(1, c), false)) arguments += delta.tool_arguments;
        }
        expect(contains(arguments, "{\"city\": \"L"), name + " to stream arguments, not " + arguments);
    }
});

// Whether the grammar accepts the text as a whole completion.
bool accepts(const GrammarSettings& settings, const std::string& text) {
    const llama_vocab*     vocab = vocabulary("qwen2");
    static GrammarCompiler compiler(vocab);
    const auto             grammar = compiler.compile(settings);
    for (const TokenId token : common_tokenize(vocab, text, false, true)) {
        if (!grammar->allows(token)) return false;
        grammar->accept(token);
    }
    return grammar->allows(llama_vocab_eos(vocab));
}

const Test obeyed("chat: without a form for tools, a grammar demands the call and holds its arguments", [] {
    const std::string wrong = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": 5}}\n</tool_call>";
    for (const std::string& name : names_without_tools()) {
        const ChatTemplate&  chat = template_of(name);
        const RenderedPrompt offered = chat.render(body());
        const std::string    begins  = beginning_of(offered);
        const auto           allows  = [&](const RenderedPrompt& prompt, const std::string& text) {
            return accepts(*prompt.grammar, begins + text);
        };
        expect(offered.grammar && offered.grammar->lazy, name + " to be free");
        expect(allows(offered, "It rains."), name + " to be free to answer");
        expect(allows(offered, "I look.\n" + kCall), name + " to be free to call");
        expect(!allows(offered, "I look.\n" + wrong), name + " to hold the arguments of a call");

        for (const char* choice : {R"(,"tool_choice": "required")", R"(,"tool_choice": {"name": "get_weather"})"}) {
            const RenderedPrompt forced = chat.render(body(choice));
            expect(forced.grammar && !forced.grammar->lazy, name + " to be forced");
            expect(allows(forced, kCall), name + " to call");
            for (const std::string& text : {std::string("It rains."), "I look.\n" + kCall, wrong}) {
                expect(!allows(forced, text), name + " to refuse " + text);
            }
            expect_equal(forced.text, offered.text);
        }
        const RenderedPrompt single = chat.render(body(R"(,"tool_choice": "required", "parallel_tool_calls": false)"));
        expect(allows(single, kCall) && !allows(single, kCall + "\n" + kCall), name + " to call once");

        const RenderedPrompt either = chat.render(
            body(R"(,"json_schema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})"));
        expect(allows(either, kCall) && allows(either, "{\"ok\": true}"), name + " to do either");
        expect(!allows(either, "It rains."), name + " to do nothing else");
    }
});

const Test goes_on("chat: without a form for tools, a message that is continued may still call", [] {
    for (const std::string& name : names_without_tools()) {
        const ChatTemplate&  chat = template_of(name);
        const RenderedPrompt prompt = chat.render("{\"messages\": [" + kQuestion +
                                                  R"(, {"role": "assistant", "content": "I look."}],)" + kTools + "}");
        const Reply reply = read(*prompt.format, "\n" + kCall, 3);
        expect_equal(reply.calls.size(), size_t{1});
        expect_equal(reply.content, "");
    }
});

const Test reasoning("chat: a template that reasons and has no form for tools keeps its reasoning", [] {
    const ChatTemplate chat(
        "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{% if m.reasoning_content %}<think>"
        "{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<|end|>{% else %}{{ m.content }}<|end|>{% endif %}"
        "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}");
    expect(chat.capabilities().generic_tools, "the template to have no form for tools");
    const RenderedPrompt prompt = chat.render(body());
    for (const size_t piece : {size_t{1}, size_t{500}}) {
        const Reply reply = read(*prompt.format, "<think>A <tool_call> might do.</think>" + kCall, piece);
        expect_equal(reply.reasoning, "A <tool_call> might do.");
        expect_equal(reply.calls.size(), size_t{1});
    }
});

const char* const kTwoTools = R"("tools": [
  {"type": "function", "function": {"name": "find_flights", "description": "Lists departures.",
    "parameters": {"type": "object", "properties": {"origin_code": {"type": "string"}, "seat_count": {"type": "integer"}}}}},
  {"type": "function", "function": {"name": "book_hotel", "description": "Reserves a room.",
    "parameters": {"type": "object", "properties": {"arrival_day": {"type": "string", "description": "As a date."}}}}}])";

// The same templates, also without their own text for tools.
std::vector<std::string> sources_of(const std::string& name) {
    return {source_of(name), "{%- set tools = [] -%}" + source_of(name)};
}

const Test described("chat: every prompt has the name, the description and the parameters of each tool", [] {
    std::string missing;
    for (const std::string& name : template_names()) {
        for (const std::string& source : sources_of(name)) {
            const std::string text = ChatTemplate(source).render("{\"messages\": [" + kQuestion + "]," + kTwoTools + "}").text;
            for (const char* part : {"find_flights", "Lists departures.", "origin_code", "seat_count", "book_hotel",
                                     "Reserves a room.", "arrival_day", "As a date."}) {
                if (!contains(text, part)) missing += "\n" + name + " lacks " + part;
            }
        }
    }
    expect(missing.empty(), missing);
});

// The example of a call in the system message, which the template ends with the same text as any other system message.
std::string example_in(const ChatTemplate& chat) {
    const std::string lead   = "in exactly this format:\n";
    const std::string system = R"({"role": "system", "content": "Be terse."},)";
    const std::string text   = chat.render("{\"messages\": [" + system + kQuestion + "]," + kTools + "}").text;
    const std::string plain  = chat.render("{\"messages\": [" + system + kQuestion + "]}").text;
    const size_t      begin  = text.find(lead);
    if (begin == std::string::npos) return "";
    const std::string after = plain.substr(plain.find("Be terse.") + 9, 24);
    return text.substr(begin + lead.size(), text.find(after, begin + lead.size()) - begin - lead.size());
}

const Test example("chat: the format that is described for a template without text for tools is the format that is read", [] {
    int n = 0;
    for (const std::string& name : template_names()) {
        for (const std::string& source : sources_of(name)) {
            const ChatTemplate chat(source);
            std::string        call = example_in(chat);
            if (call.empty()) continue;
            ++n;
            const std::pair<const char*, const char*> values[] = {
                {"<function-name>", "get_weather"}, {"<args-json-object>", "{\"city\": \"Lima\"}"}, {"<id>", "abcdefghi"},
                {"<parameter-name>", "city"},       {"<value>", "Lima"},                            {"<json-value>", "\"Lima\""},
                {"<type>", "string"},               {"<true-or-false>", "true"}};
            for (const auto& [variable, value] : values) string_replace_all(call, variable, value);
            const RenderedPrompt prompt = chat.render(body());
            Reply                reply  = read(*prompt.format, call, 7);
            // The prompt may have opened reasoning.
            if (reply.calls.empty() && prompt.reasoning) {
                reply = read(*prompt.format, "Hm." + prompt.reasoning->ends.back() + call, 7);
            }
            std::string found = reply.calls.size() == 1 ? reply.calls[0] : "";
            string_replace_all(found, ": ", ":");
            expect(found == R"(get_weather({"city":"Lima"}))", name + " to read one call in " + call + ", not " + found);
        }
    }
    expect(n > 20, "many templates to have a described format, not " + std::to_string(n));
});

}  // namespace
