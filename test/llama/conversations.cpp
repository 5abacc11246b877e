// Every message of a conversation appears in the prompt, or the request is refused, on the templates of real models.
#include "chat-templates.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "llama/chat/chat-template.h"
#include "llama/chat/control-tokens.h"
#include "llama/chat/template-markers.h"

#include <common.h>
#include <json.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

// A conversation in letters: S system, D developer, U user, A assistant, C a call, X text and a call, P two calls,
// T the result of the next call. The texts of a list may have any order in the prompt: text and calls of a message. The
// list of two calls also has their results, because the first result may come before the second call.
struct Conversation {
    common_json                           messages = common_json::array();
    std::vector<std::vector<std::string>> system, others;
    int                                   n_texts = 0, n_calls = 0, n_results = 0;
    bool                                  has_pair = false;

    std::string text() { return "Text" + std::to_string(n_texts++) + "Z"; }

    common_json call() {
        others.back().push_back(text());
        common_json function = {{"name", "get_weather"}, {"arguments", "{\"city\": \"" + others.back().back() + "\"}"}};
        return {{"id", "abcdefgh" + std::to_string(n_calls++)}, {"type", "function"}, {"function", function}};
    }

    explicit Conversation(const std::string& kinds) {
        const std::map<char, const char*> roles = {{'S', "system"}, {'D', "developer"}, {'U', "user"}, {'T', "tool"}};
        for (const char kind : kinds) {
            const auto  role     = roles.find(kind);
            common_json message  = {{"role", role == roles.end() ? "assistant" : role->second}, {"content", ""}};
            const bool  is_first = kind == 'S' || kind == 'D';
            if (kind != 'T' || !has_pair) (is_first ? system : others).emplace_back();
            if (kind != 'C' && kind != 'P') {
                message["content"] = text();
                (is_first ? system : others).back().push_back(message.at("content").get<std::string>());
            }
            if (kind == 'C' || kind == 'X') message["tool_calls"] = common_json::array({call()});
            if (kind == 'P') {
                const common_json first = call();
                message["tool_calls"]   = common_json::array({first, call()});
                has_pair                = true;
            }
            if (kind == 'T') message["tool_call_id"] = "abcdefgh" + std::to_string(n_results++);
            messages.push_back(message);
        }
    }
};

// What is wrong with a prompt; empty: nothing.
std::string problem(const std::string& prompt, const std::vector<std::vector<std::string>>& lists) {
    size_t end = 0;
    for (const auto& list : lists) {
        size_t last = end;
        for (const std::string& text : list) {
            const size_t at = prompt.find(text);
            if (at == std::string::npos) return text + " is missing";
            if (prompt.find(text, at + 1) != std::string::npos) return text + " is there twice";
            if (at < end) return text + " comes too early";
            last = std::max(last, at);
        }
        end = last;
    }
    return "";
}

// The problem of a conversation, or why it was refused.
std::string render(const ChatTemplate& chat_template, const std::string& shape, bool& is_refused) {
    const Conversation conversation(shape);
    const common_json  tools   = common_json::parse("{" + std::string(kTools) + "}").at("tools");
    const common_json  request = {{"messages", conversation.messages}, {"tools", tools}};
    try {
        const std::string prompt = chat_template.render(request.dump()).text;
        // System messages may come first.
        auto all = conversation.system;
        all.insert(all.end(), conversation.others.begin(), conversation.others.end());
        const std::string wrong = problem(prompt, all);
        if (wrong.empty() || problem(prompt, conversation.others) != "") return wrong;
        return problem(prompt, conversation.system);
    } catch (const Error& error) {
        is_refused = true;
        expect(error.code() == ErrorCode::template_failed, "the request to be refused as template_failed");
        return error.what();
    }
}

const Test complete("conversations: every template shows each message once and in order", [] {
    for (const std::string& file : template_names()) {
        const ChatTemplate& chat_template = template_of(file);
        for (const char* shape :
             {"U", "SU", "SUAU", "DU", "SDU", "SSU", "SUASU", "UASU", "UAUS", "UU", "UAUU", "UAAU", "UCT", "SUCT", "UXTAU",
              "UPTT", "UCTU", "UCTSU", "UCTCT", "UCTCTAU", "SUDUASDU", "US", "USU", "UCTA", "USA"}) {
            bool              is_refused = false;
            const std::string wrong      = render(chat_template, shape, is_refused);
            if (!wrong.empty()) fail(file + " with " + shape + ": " + wrong);
        }
    }
});

const Test refused("conversations: what a template cannot show is refused", [] {
    for (const std::string& file : template_names()) {
        const ChatTemplate& chat_template = template_of(file);
        for (const char* shape : {"S", "AU", "T", "TU", "UT", "UTU", "UCUT"}) {
            bool              is_refused = false;
            const std::string wrong      = render(chat_template, shape, is_refused);
            if (!wrong.empty() && !is_refused) fail(file + " with " + shape + ": " + wrong);
            if (wrong.find("While executing") != std::string::npos) fail(file + " refuses with a trace: " + wrong);
        }
    }
});

// Messages that clients send by mistake or on purpose. Texts of one list may have any order.
struct Odd {
    const char*                           name;
    std::string                           messages;
    std::vector<std::vector<std::string>> texts;
};

std::string user(const std::string& text) { return R"({"role":"user","content":")" + text + "\"}"; }
std::string assistant(const std::string& text) { return R"({"role":"assistant","content":")" + text + "\"}"; }
std::string system_of(const std::string& text) { return R"({"role":"system","content":")" + text + "\"}"; }
std::string result(const std::string& text) { return R"({"role":"tool","tool_call_id":"abcdefgh1","content":")" + text + "\"}"; }
std::string call_of(const std::string& arguments, const std::string& name = "get_weather") {
    return R"({"id":"abcdefgh1","type":"function","function":{"name":")" + name + R"(","arguments":")" + arguments + "\"}}";
}
std::string calling(const std::string& calls, const std::string& text = "") {
    return R"({"role":"assistant","content":")" + text + R"(","tool_calls":[)" + calls + "]}";
}
std::string city(const std::string& text) { return R"({\"city\": \")" + text + R"(\"})"; }

const Test odd("conversations: odd messages appear once and in order, or are refused", [] {
    const std::string one = user("A1Z"), three = result("A3Z"), control = "<|im_end|></s>[INST]<|eot_id|><tool_call>";
    const std::string name(64, 'n');
    const Odd cases[] = {
        {"an empty user", user("") + "," + assistant("A1Z") + "," + user("A2Z"), {{"A1Z"}, {"A2Z"}}},
        {"an empty assistant", one + "," + assistant("") + "," + user("A2Z"), {{"A1Z"}, {"A2Z"}}},
        {"an empty system", system_of("") + "," + one, {{"A1Z"}}},
        {"an empty result", one + "," + calling(call_of(city("A2Z"))) + "," + result("") + "," + user("A3Z"), {{"A1Z"}, {"A2Z"}, {"A3Z"}}},
        {"a result first", three + "," + one, {{"A3Z"}, {"A1Z"}}},
        {"a result before its call", one + "," + three + "," + calling(call_of(city("A2Z"))) + "," + result("A4Z"),
         {{"A1Z"}, {"A3Z"}, {"A2Z"}, {"A4Z"}}},
        {"equal ids in a message", one + "," + calling(call_of(city("A2Z")) + "," + call_of(city("A4Z"))) + "," + three + "," + result("A5Z"),
         {{"A1Z"}, {"A2Z", "A3Z", "A4Z", "A5Z"}}},
        {"equal ids in two messages", one + "," + calling(call_of(city("A2Z"))) + "," + three + "," + calling(call_of(city("A4Z"))) + "," +
         result("A5Z"), {{"A1Z"}, {"A2Z"}, {"A3Z"}, {"A4Z"}, {"A5Z"}}},
        {"a long name", one + "," + calling(call_of(city("A2Z"), name)) + "," + three, {{"A1Z"}, {"A2Z"}, {"A3Z"}}},
        {"cut arguments", one + "," + calling(call_of(R"({\"city\": \"A2Z)")) + "," + three, {{"A1Z"}, {"A2Z"}, {"A3Z"}}},
        {"arguments that are text", one + "," + calling(call_of("A2Z")) + "," + three, {{"A1Z"}, {"A2Z"}, {"A3Z"}}},
        {"arguments that are a list", one + "," + calling(call_of(R"([\"A2Z\"])")) + "," + three, {{"A1Z"}, {"A2Z"}, {"A3Z"}}},
        {"reasoning alone", one + R"(,{"role":"assistant","reasoning_content":"R"},)" + user("A2Z"), {{"A1Z"}, {"A2Z"}}},
        {"systems in the middle", one + "," + assistant("A2Z") + "," + system_of("A4Z") + "," + system_of("A5Z") + "," + user("A3Z"),
         {{"A1Z"}, {"A2Z"}, {"A3Z"}}},
        {"control tokens", user("A1Z" + control) + "," + calling(call_of(city("A2Z" + control)), "A3Z") + "," +
         result("A4Z" + control) + "," + user("A5Z" + control),
         {{"A1Z" + control}, {"A2Z" + control, "A3Z"}, {"A4Z" + control}, {"A5Z" + control}}},
        {"a call in the old form", one + R"(,{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"get_weather",)"
         R"("arguments":")" + city("A2Z") + R"("}}]},{"role":"tool","name":"get_weather","content":"A3Z"},)" + user("A4Z"),
         {{"A1Z"}, {"A2Z"}, {"A3Z"}, {"A4Z"}}},
        {"results without ids", one + "," + calling(call_of(city("A2Z"))) + R"(,{"role":"tool","content":"A3Z"},)" + user("A4Z"),
         {{"A1Z"}, {"A2Z"}, {"A3Z"}, {"A4Z"}}},
        {"a long word", user("A1Z" + std::string(50'000, 'w') + "A2Z"), {{"A1Z"}, {"A2Z"}}},
    };
    std::string wrong;
    for (const std::string& file : template_names()) {
        const ChatTemplate& chat_template = template_of(file);
        for (const Odd& each : cases) {
            const std::string messages = "{\"messages\":[" + each.messages + "],";
            try {
                const std::string found = problem(chat_template.render(messages + kTools + "}").text, each.texts);
                if (!found.empty()) wrong += "\n" + file + " with " + each.name + ": " + found;
            } catch (const Error& error) {
                if (error.code() != ErrorCode::template_failed) wrong += "\n" + file + " with " + each.name + ": " + error.what();
            }
        }
    }
    expect(wrong.empty(), wrong);
});

// System, user, reply, user, call, result and user; the texts are those of `text_of(i)`.
template <typename TextOf>
std::string markup_problem(const ChatTemplate& chat_template, const ControlTokens& control, const TextOf& text_of) {
    std::vector<std::vector<std::string>> texts;
    const auto next = [&] { return texts.emplace_back(1, text_of(texts.size()))[0]; };
    const auto message = [&](const char* role) { return common_json{{"role", role}, {"content", next()}}; };
    common_json messages = common_json::array();
    for (const char* role : {"system", "user", "assistant", "user"}) messages.push_back(message(role));
    const common_json city     = {{"city", next()}};
    const common_json function = {{"name", "get_weather"}, {"arguments", city.dump()}};
    const common_json call     = {{"id", "abcdefgh1"}, {"type", "function"}, {"function", function}};
    messages.push_back(common_json{{"role", "assistant"}, {"content", ""}, {"tool_calls", common_json::array({call})}});
    messages.push_back(common_json{{"role", "tool"}, {"tool_call_id", "abcdefgh1"}, {"content", next()}});
    messages.push_back(message("user"));
    const common_json tools   = common_json::parse("{" + std::string(kTools) + "}").at("tools");
    const common_json request = {{"messages", messages}, {"tools", tools}};
    try {
        return problem(ControlTokens::unmarked(chat_template.render(request.dump(), &control).text), texts);
    } catch (const Error& error) {
        return error.what();
    }
}

const Test markup("conversations: markup that templates search for stays in the text of every role", [] {
    const ControlTokens control(vocabulary("qwen2"));
    std::string         wrong;
    for (const std::string& file : template_names()) {
        const std::string        source = source_of(file);
        const ChatTemplate       chat_template(source);
        std::vector<std::string> all = searched_markup(source);
        all.insert(all.end(), {"</think>", "<think>", "/think", "/no_think", "[/INST]", "[TOOL_CALLS]", "<|channel|>final<|message|>",
                               "<tool_call>", "</tool_call>", "<tool_response>", "[THINK]", "[/THINK]", "<|im_end|>", "<|eot_id|>"});
        std::string together;
        for (std::string& each : all) together += "a " + (each = string_strip(each)) + " b";
        const auto within = [&](size_t i) { return "Text" + std::to_string(i) + together + "End" + std::to_string(i); };
        std::string found = markup_problem(chat_template, control, within);
        if (!found.empty()) wrong += "\n" + file + " with all: " + found;
        for (const std::string& each : all) {
            if (each[0] == '/') continue;  // a switch at the beginning and the end
            const auto around = [&](size_t i) { return (i == 2 ? "" : each) + "Text" + std::to_string(i) + "Z" + each; };
            found = markup_problem(chat_template, control, around);
            if (!found.empty()) wrong += "\n" + file + " with " + each + " around: " + found;
        }
    }
    expect(wrong.empty(), wrong);
});

const Test assembled("conversations: markup that a template assembles from constants stays in the text", [] {
    const ControlTokens control(vocabulary("qwen2"));
    struct Case {
        const char *before, *search, *found;
    };
    const Case cases[] = {
        {"", "content.split('</' ~ 'cut>')[-1]", "</cut>"},
        {"", "content.split('</' + ('cut' ~ '>'))[-1]", "</cut>"},
        {"{% set t = 'cut' %}{% set end = '</' ~ t ~ '>' %}", "content.split(end)[-1]", "</cut>"},
        {"{% set t %}</cut>{% endset %}", "content.split(t)[-1]", "</cut>"},
        {"{% set ns = namespace(end='</cut') %}{% set ns.end = ns.end ~ '>' %}", "content.split(ns.end)[-1]", "</cut>"},
        {"{% set tags = {'end': '</cut>'} %}", "content.split(tags['end'])[-1]", "</cut>"},
        {"", "content.split('</CUT>' | lower)[-1]", "</cut>"},
        {"", "content.split(['</', 'cut', '>'] | join(''))[-1]", "</cut>"},
        {"{% macro after(text, open, close='>') %}{{ text.split(open ~ close)[-1] }}{% endmacro %}", "after(content, '</' ~ 'cut')", "</cut>"},
        {"{% set end = end_tag if end_tag is defined else '</cut>' %}", "content.split(end)[-1]", "</cut>"},
        {"{% set a, b = '</cut', '>' %}", "content.split(a ~ b)[-1]", "</cut>"},
        {"", "(content if ('</' ~ 'cut>') not in content else 'x')", "</cut>"},
        {"", "(content[7:] if content[:7] == '<' ~ 'cut!>' else content)", "<cut!>"},
        {"", "content | replace('<c' ~ 'ut>', '')", "<cut>"},
    };
    for (const auto& [before, search, found] : cases) {
        const std::string  source = std::string(before) + "{% for message in messages %}{% set content = message.content %}<{{ message.role }}>{{ " +
                                   search + " }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
        const ChatTemplate chat_template(source);
        for (const std::string& text : {"A1Z" + std::string(found) + "A2Z", found + std::string("A1Z")}) {
            const common_json message = {{"role", "user"}, {"content", text}};
            const std::string request = common_json{{"messages", common_json::array({message})}}.dump();
            const std::string prompt  = ControlTokens::unmarked(chat_template.render(request, &control).text);
            expect(prompt.find(text) != std::string::npos, source + " to show " + text + ", but got " + prompt);
        }
    }
    const std::string loop = "{% set tags = ['a', 'b'] %}{% for m in messages %}{% set ns = namespace(text=m.content) %}{% for tag in tags %}"
                             "{% set ns.text = ns.text.split('</' ~ tag ~ '>')[-1] %}{% endfor %}{{ ns.text }}{% endfor %}";
    expect_equal(string_join(searched_markup(loop), " "), std::string("</a> </b>"));
});

const Test switches("conversations: a switch of a template works alone or at an end, and is text elsewhere", [] {
    const ControlTokens control(vocabulary("qwen2"));
    const ChatTemplate& chat_template = template_of("NVIDIA-Nemotron-Nano-v2");
    const auto          render = [&](const std::string& text) {
        const common_json message = {{"role", "user"}, {"content", text}};
        const std::string request = common_json{{"messages", common_json::array({message})}}.dump();
        return ControlTokens::unmarked(chat_template.render(request, &control).text);
    };
    for (const char* text : {"Hello /no_think", "/no_think Hello", "Hello\n/no_think\nHello", "/no_think"}) {
        const std::string prompt = render(text);
        expect(prompt.find("<think></think>") != std::string::npos && prompt.find("/no_think") == std::string::npos, text);
    }
    for (const char* text : {"Is /no_think a word?", "See /usr/no_think/a or b/no_think", "Write: /no_think\nbelow."}) {
        const std::string prompt = render(text);
        expect(prompt.find("<think></think>") == std::string::npos && prompt.find(text) != std::string::npos, text);
    }
});

const Test continued("conversations: a continued message may end within its reasoning", [] {
    const ControlTokens control(vocabulary("qwen2"));
    const ChatTemplate& chat_template = template_of("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16");
    const std::string   messages = "{\"messages\":[" + user("A1Z") + R"(,{"role":"assistant","content":"<think>\nIs it </think"}]})";
    const RenderedPrompt plain   = chat_template.render(messages), marked = chat_template.render(messages, &control);
    expect_equal(marked.text, plain.text);
    expect_equal(marked.format->generation_prompt, plain.format->generation_prompt);
});

const Test old_form("conversations: calls and results without ids are shown by every template", [] {
    const std::string calls = R"({"type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"A2Z\"}"}})";
    for (const std::string& file : template_names()) {
        const std::string messages = "{\"messages\":[" + user("A1Z") + "," + calling(calls) +
                                     R"(,{"role":"tool","name":"get_weather","content":"A3Z"},)" + user("A4Z") + "],";
        const std::string found = problem(template_of(file).render(messages + kTools + "}").text, {{"A1Z"}, {"A2Z"}, {"A3Z"}, {"A4Z"}});
        expect(found.empty(), file + ": " + found);
    }
});

const Test without_ids("conversations: results without ids belong to calls of their name, in order", [] {
    const auto call = [](const std::string& name, const std::string& text, const std::string& id) {
        return R"({"id":")" + id + R"(","type":"function","function":{"name":")" + name + R"(","arguments":"{\"x\":\")" + text + R"(\"}"}})";
    };
    const auto unnamed = [](const std::string& text, const std::string& name) {
        return R"({"role":"tool","name":")" + name + R"(","content":")" + text + "\"}";
    };
    const std::string messages = user("A0Z") + "," + calling(call("f", "A1Z", "aaaaaaaaa") + "," + call("g", "A2Z", "bbbbbbbbb")) + "," +
                                 unnamed("A3Z", "g") + "," + unnamed("A4Z", "f") + "," + user("A5Z");
    const std::string prompt = template_of("mistralai-Mistral-Nemo-Instruct-2407").render("{\"messages\":[" + messages + "]}").text;
    const size_t of_g = prompt.find("bbbbbbbbb", prompt.find("A3Z")), of_f = prompt.find("aaaaaaaaa", prompt.find("A4Z"));
    expect(of_g < prompt.find("A4Z") && of_f != std::string::npos, "results to have the ids of their calls: " + prompt);
});

}  // namespace
