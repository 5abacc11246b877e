#include "chat-templates.h"
#include "vocabulary.h"

#include "core/error-code.h"
#include "llama/calls/tool-text.h"
#include "llama/chat/chat-template.h"
#include "llama/sampling/grammar.h"

#include <chat.h>
#include <common.h>
#include <log.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_own_tools(const ChatTemplate& chat) { return chat.capabilities().tools && !chat.capabilities().generic_tools; }

// A template as we render it, and as llama.cpp renders it by itself.
class Pair {
public:
    explicit Pair(const std::string& name)
        : ours_(template_of(name)), theirs_(common_chat_templates_init(nullptr, source_of(name))) {}

    const ChatTemplate& ours() const { return ours_; }
    // The others have a general form for tools, which is tested in generic-tools.cpp.
    bool has_tools() const { return has_own_tools(ours_); }
    bool has(const char* capability) const { return common_chat_templates_get_caps(theirs_.get()).at(capability); }

    // Empty when the template refuses.
    std::optional<std::string> render(const std::string& messages, bool with_tools) const {
        try {
            return ours_.render("{\"messages\": " + messages + (with_tools ? std::string(",") + kTools : "") + "}").text;
        } catch (const Error& error) {
            expect(error.code() == ErrorCode::template_failed, "template_failed");
            return std::nullopt;
        }
    }

    std::optional<std::string> render_alone(const std::string& messages, bool with_tools,
                                            bool add_generation_prompt = true, const std::string& tools = kTools) const {
        common_chat_templates_inputs inputs;
        inputs.messages              = common_chat_msgs_parse_oaicompat(common_json::parse(messages));
        inputs.reasoning_format      = COMMON_REASONING_FORMAT_DEEPSEEK;
        inputs.parallel_tool_calls   = ours_.capabilities().parallel_tool_calls;
        inputs.add_generation_prompt = add_generation_prompt;
        if (with_tools) {
            inputs.tools = common_chat_tools_parse_oaicompat(common_json::parse("{" + tools + "}").at("tools"));
            add_tool_text(inputs, ToolText::in_variable, {});
        }
        try {
            return common_chat_templates_apply(theirs_.get(), inputs).prompt;
        } catch (const std::exception&) {
            return std::nullopt;
        }
    }

private:
    const ChatTemplate&       ours_;
    common_chat_templates_ptr theirs_;
};

const std::string kQuestion = R"({"role": "user", "content": "Weather in Lima?"})";
const std::string kCall     = R"("tool_calls": [{"id": "call12345", "type": "function",
  "function": {"name": "get_weather", "arguments": "{\"city\": \"Lima\"}"}}])";

const std::string kOpening =
    R"([{"role": "system", "content": "Be terse."}, {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Where are you?"}, )" +
    kQuestion;
const std::string kEnding = R"(, {"role": "assistant", "content": "Grey."}, {"role": "user", "content": "Thanks."}])";
const std::string kConversation =
    kOpening + R"(, {"role": "assistant", "content": "I look.", )" + kCall +
    R"(}, {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": "{\"sky\": \"overcast\"}"})" +
    kEnding;

// Whether the text has the parts, in order.
bool has_parts(const std::string& text, const std::vector<std::string>& parts) {
    size_t at = 0;
    for (const std::string& part : parts) {
        at = text.find(part, at);
        if (at == std::string::npos) return false;
        at += part.size();
    }
    return true;
}

// message-order.h arranges what a template drops or moves.
const Test conversations("chat: a conversation is rendered as llama.cpp does, unless the template drops a part of it", [] {
    common_log_pause(common_log_main());
    size_t n_with_tools = 0, n_alike = 0;
    for (const std::string& name : template_names()) {
        const Pair pair(name);
        const bool with_tools = pair.has_tools();
        // Without a form for tools, calls are rendered otherwise than llama.cpp does.
        const std::string        messages = with_tools ? kConversation : kOpening + kEnding;
        std::vector<std::string> parts    = {"Be terse.", "Hello.", "Where are you?", "Weather in Lima?", "Grey.", "Thanks."};
        std::vector<std::string> between  = {"I look.", "overcast"};
        if (with_tools) parts.insert(parts.begin() + 4, between.begin(), between.end());
        const auto text = pair.render(messages, with_tools), alone = pair.render_alone(messages, with_tools);
        expect(text.has_value(), name + " to take the conversation");
        expect(has_parts(*text, parts), name + " to render all parts in order");
        const bool shows_call = alone && (!with_tools || has_parts(*alone, {"Weather in Lima?", "get_weather", "overcast"}));
        if (shows_call && has_parts(*alone, parts) && !contains(*text, "in exactly this format:")) {
            expect(text == alone, name + " to be rendered as llama.cpp does");
            ++n_alike;
        }
        if (!with_tools) continue;
        ++n_with_tools;
        expect(has_parts(*text, {"Weather in Lima?", "get_weather", "overcast"}), name + " to render the call");
    }
    expect(n_with_tools >= 64, "templates with tools: " + std::to_string(n_with_tools));
    expect(n_alike >= 45, "templates rendered as llama.cpp does: " + std::to_string(n_alike));
});

const Test choices("chat: every template with tools renders the same where a call is forced, and a grammar forces it",
                   [] {
                       common_log_pause(common_log_main());
                       for (const std::string& name : template_names()) {
                           const ChatTemplate& chat = template_of(name);
                           if (!has_own_tools(chat)) continue;
                           const std::string    body    = "{\"messages\": [" + kQuestion + "]," + kTools;
                           const RenderedPrompt offered = chat.render(body + "}");
                           const RenderedPrompt forced =
                               chat.render(body + R"(,"tool_choice": {"name": "get_weather"}})");
                           expect(forced.grammar && !forced.grammar->lazy,
                                  name + " to have a grammar that forces a call");
                           expect_equal(name + forced.text, name + offered.text);
                       }
                   });

const Test images("chat: every template renders images where they stand, as llama.cpp does", [] {
    common_log_pause(common_log_main());
    const auto text_part = [](const std::string& text) { return R"({"type": "text", "text": ")" + text + R"("})"; };
    const std::string image = R"({"type": "media_marker", "text": "<__media__>"})";
    const std::string parts = R"([{"role": "user", "content": [)" + text_part("What") + "," + image + "," + image +
                              "," + text_part("is") + "," + text_part("this?") + "]}]";
    const std::string joined = R"([{"role": "user", "content": "What<__media__><__media__>is\nthis?"}])";
    for (const std::string& name : template_names()) {
        const Pair pair(name);
        const auto text = pair.render(joined, false);
        expect(text && contains(*text, "What<__media__><__media__>is\nthis?"), name + " to render the images");
        expect_equal(name + *text, name + pair.render_alone(parts, false).value_or(""));
    }
});

// Tokens that end a message with a call, for templates where other messages end differently.
const char* const kEnds[] = {"<|eom_id|>",
                             "<|calls|>",
                             "<|END_OF_TURN_TOKEN|>",
                             "<|START_OF_TURN_TOKEN|>",
                             "<｜end▁of▁sentence｜>",
                             "<｜hy_eos:opensource｜>",
                             "<SPECIAL_12>",
                             "[e~["};

// Removes the end of the message, which is never part of a completion.
std::string without_end(const Pair& pair, std::string text) {
    for (const char* end : kEnds) text.resize(std::min(text.find(end), text.size()));
    const std::string turn  = R"({"role": "assistant", "content": "Nothing."})";
    const std::string other = pair.render_alone("[" + kQuestion + "," + turn + "]", true, false).value_or("Nothing.");
    const std::string end   = other.substr(other.find("Nothing.") + 8);
    const bool        ends  = text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
    return ends ? text.substr(0, text.size() - end.size()) : text;
}

struct PastCall {
    std::string name, parameters, arguments;

    std::string tools() const {
        return R"("tools": [{"type": "function", "function": {"name": ")" + name +
               R"(", "description": "Any", "parameters": )" + parameters + "}}]";
    }
    std::string turn(const std::string& reasoning) const {
        const common_json function = {{"name", name}, {"arguments", arguments}};
        const common_json call     = {{"id", "call12345"}, {"type", "function"}, {"function", function}};
        return R"({"role": "assistant", "content": "", )" + reasoning + R"("tool_calls": [)" + call.dump() + "]}";
    }
};

PastCall one_argument(const std::string& name, const std::string& schema, const std::string& value) {
    return {name, R"({"type": "object", "properties": {"city": )" + schema + R"(}, "required": ["city"]})",
            R"({"city": )" + value + "}"};
}

const PastCall kPastCalls[] = {
    one_argument("get_weather", R"({"type": "string"})", R"("Lima")"),
    one_argument("call", R"({"type": "string"})", R"("true")"),
    one_argument("get-weather.v2_X-1", R"({"type": "string"})", R"("{\"a\": [1, 2]}")"),
    one_argument("get_weather", R"({"type": "string", "enum": ["a b", " 12 "]})", R"(" 12 ")"),
    {"get_weather",
     R"({"type": "object", "properties": {"user_id": {"type": "string"}, "user-id": {"type": "string"}, "\u958b": {"type": "integer"}}})",
     R"({"user_id": "a", "user-id": "b", "\u958b": 1})"},
    {"get_weather", R"({"properties": {"name": {"type": "string"}, "arguments": {"type": "string"}}})",
     R"({"name": "x", "arguments": "y"})"},
};

// Template output for an assistant that makes the call; empty if there is none.
std::string written_call(const Pair& pair, const RenderedPrompt& prompt, const PastCall& call, const std::string& reasoning) {
    const std::string all =
        pair.render_alone("[" + kQuestion + "," + call.turn(reasoning) + "]", true, false, call.tools()).value_or("");
    std::string       text;
    if (all.compare(0, prompt.text.size(), prompt.text) == 0) {
        text = all.substr(prompt.text.size());
    } else {
        // The end of the prompt is not all there: reasoning that it opens was closed before the call.
        const std::string& thinks = prompt.grammar->thinking_start;
        std::string        header = prompt.format->generation_prompt;
        if (!thinks.empty()) header.resize(std::min(header.find(thinks), header.size()));
        size_t at = all.find(header, all.find("Weather in Lima?"));
        if (at == std::string::npos) return {};
        at += header.size();
        if (all.compare(at, thinks.size(), thinks) == 0) at += thinks.size();
        text = all.substr(at);
        if (!thinks.empty() && text.find(prompt.grammar->thinking_ends.at(0)) > text.find(call.name)) {
            text = "Hm." + prompt.grammar->thinking_ends.at(0) + text;
        }
    }
    return without_end(pair, text);
}

// Arguments are equal in any order.
bool is_same(const common_json& one, const common_json& other) {
    if (!one.is_object() || one.size() != other.size()) return false;
    for (const auto& [name, value] : one.items()) {
        if (!other.contains(name) || value.dump() != other.at(name).dump()) return false;
    }
    return true;
}

bool reads_call(const ChatFormat& format, const PastCall& call, const std::string& text, size_t piece) {
    const Reply reply = read(format, text, piece);
    if (reply.calls.size() != 1 || reply.content.find_first_not_of(" \n") != std::string::npos) return false;
    const std::string& read = reply.calls[0];
    if (read.compare(0, call.name.size() + 1, call.name + "(") != 0) return false;
    const std::string arguments = read.substr(call.name.size() + 1, read.size() - call.name.size() - 2);
    return is_same(common_json::parse_no_throw(arguments), common_json::parse(call.arguments));
}

const std::vector<std::string> kWriteNone = {"LFM2-8B-A1B", "LFM2.5-Instruct"};

// Some templates open reasoning in the prompt, but write none for a message without reasoning.
bool is_read_again(const std::string& name, const Pair& pair, const PastCall& call) {
    const RenderedPrompt prompt = pair.ours().render("{\"messages\": [" + kQuestion + "]," + call.tools() + "}");
    bool                 is_read = false;
    for (const char* reasoning : {"", R"("reasoning_content": "Hm.", )"}) {
        const std::string text = written_call(pair, prompt, call, reasoning);
        if (is_read || !contains(text, call.name)) continue;
        is_read = reads_call(*prompt.format, call, text, text.size());
        for (const size_t piece : {size_t{1}, size_t{7}}) {
            expect(reads_call(*prompt.format, call, text, piece) == is_read, name + " to be read the same in pieces");
        }
    }
    return is_read;
}

const Test round_trips("chat: a call that a template writes is read again, whole and in pieces", [] {
    common_log_pause(common_log_main());
    size_t n_templates = 0;
    for (const std::string& name : template_names()) {
        const Pair pair(name);
        if (!pair.has_tools() || is_one_of(name, kWriteNone)) continue;
        ++n_templates;
        for (const PastCall& call : kPastCalls) {
            expect(is_read_again(name, pair, call), name + " to be read again: " + call.name + call.arguments);
        }
    }
    expect(n_templates >= 61, "templates: " + std::to_string(n_templates));
});

// How these models begin a completion; the others begin with the text itself.
const std::pair<const char*, const char*> kBeginnings[] = {
    {"openai-gpt-oss-120b", "<|channel|>final<|message|>"},
    {"meetkai-functionary-medium-v3.2", "all\n"},
    {"muse-glimmer", " to=user<|message|>"},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "<|START_RESPONSE|>"},
    {"Cohere2MoE", "<|START_TEXT|>"}};

std::string beginning_of(const std::string& name) {
    for (const auto& [of, begins] : kBeginnings) {
        if (name == of) return begins;
    }
    return {};
}

const Test runs("chat: while content or reasoning goes on, nothing is parsed again, whatever the template", [] {
    common_log_pause(common_log_main());
    size_t n_formats = 0;
    for (const std::string& name : template_names()) {
        const ChatTemplate& chat = template_of(name);
        for (const bool with_tools : {false, true}) {
            if (with_tools && !has_own_tools(chat)) continue;
            const RenderedPrompt prompt =
                chat.render("{\"messages\": [" + kQuestion + "]" + (with_tools ? std::string(",") + kTools : "") + "}");
            if (!prompt.format) continue;
            ++n_formats;
            const std::string beginning = beginning_of(name);
            for (const std::string& begins : {beginning, std::string()}) {
                ChatParser parser(*prompt.format, 0);
                parser.push(begins, false);
                for (int i = 0; i < 2000; ++i) parser.push(" word", false);
                // Without its beginning the text does not fit the format, which becomes certain after some hundred
                // bytes. Command R+ has a tool for completions without tools.
                const uint32_t most = begins == beginning && name.find("command-r-plus") == std::string::npos ? 3 : 100;
                expect(parser.n_parses() <= most, name + " to parse " + std::to_string(parser.n_parses()) + " times");
            }
        }
    }
    expect(n_formats >= 115, "formats: " + std::to_string(n_formats));
});

const std::string kSchema =
    R"("json_schema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})";

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

// Some valid spellings of {"ok": true}.
std::vector<std::string> written_formats(const std::string& name, const GrammarSettings& grammar) {
    const std::string        start = grammar.thinking_start;
    const std::string        end   = start.empty() ? "</think>" : grammar.thinking_ends.at(0);
    std::vector<std::string> texts;
    for (const std::string& thought : {std::string(), end, "Hm." + end, start + "Hm." + end}) {
        for (const std::string& beginning : {std::string(), beginning_of(name)}) {
            for (const char* json : {"{\"ok\": true}", "```json\n{\"ok\": true}\n```"}) {
                texts.push_back(thought + beginning + json);
            }
        }
    }
    return texts;
}

// llama.cpp's parser for this template's tool calls demands tags around other completions, which its grammar for
// schemas leaves out. So reasoning before such a completion stays part of it.
const std::vector<std::string> kWantMarks = {"CohereForAI-c4ai-command-r7b-12-2024-tool_use"};

// Whether the grammar accepts such a text, and all that it accepts are parsed as what they are.
void expect_format(const std::string& name, const RenderedPrompt& prompt) {
    expect(prompt.grammar && !prompt.grammar->lazy, name + " to have a grammar");
    size_t n_accepted = 0;
    for (const std::string& text : written_formats(name, *prompt.grammar)) {
        if (!accepts(*prompt.grammar, text)) continue;
        ++n_accepted;
        const Reply reply         = prompt.format ? read(*prompt.format, text, 5) : Reply{"", text, {}};
        const bool  is_as_written = reply.content == text && is_one_of(name, kWantMarks);
        if (!is_as_written) expect_equal(name + reply.content, name + "{\"ok\": true}");
        expect(reply.calls.empty(), name + " not to call");
    }
    expect(n_accepted > 0, name + " to obey");
    for (const char* text : {"Hello", "{\"ok\": 1}", "Hm. {\"ok\": true}", "<think>Hm.</think>"}) {
        expect(!accepts(*prompt.grammar, text), name + " to refuse " + text);
    }
}

const Test formats("chat: with every template a schema is obeyed, beside tools too, where a call is the alternative",
                   [] {
                       common_log_pause(common_log_main());
                       for (const std::string& name : template_names()) {
                           const Pair pair(name);
                           if (!pair.has_tools()) continue;
                           const std::string    body      = "{\"messages\": [" + kQuestion + "],";
                           const RenderedPrompt formatted = pair.ours().render(body + kSchema + "}");
                           const RenderedPrompt either    = pair.ours().render(body + kTools + "," + kSchema + "}");
                           const RenderedPrompt forced =
                               pair.ours().render(body + kTools + R"(,"tool_choice": "required"})");
                           expect_format(name, formatted);
                           expect_format(name, either);
                           expect_equal(name + either.text, name + forced.text);
                           for (const char* reasoning : {"", R"("reasoning_content": "Hm.", )"}) {
                               const std::string call    = written_call(pair, forced, kPastCalls[0], reasoning);
                               const bool        is_call = accepts(*forced.grammar, call);
                               expect(accepts(*either.grammar, call) == is_call, name + " to be free to call");
                               expect(!is_call || reads_call(*either.format, kPastCalls[0], call, 5), name + " to be read as a call");
                           }
                       }
                   });

}  // namespace
