#include "chat-templates.h"

#include "core/error-code.h"
#include "llama/chat/chat-template.h"

#include <log.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point started) { return std::chrono::duration<double>(Clock::now() - started).count(); }

std::string repeated(const std::string& text, size_t n_bytes) {
    std::string all;
    while (all.size() < n_bytes) all += text;
    return all;
}

// The beginnings of formats, and the tags that open, close or end a part in one of them.
const std::vector<std::string> kPieces = {
    "{", "[", "(", "{\"a\":", "[{\"a\":[", "\"", "\\", "<", "</", "<a>", "<tool_call>", "</tool_call>", "<think>", "</think>",
    "<|tool_call>call:get_weather{", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": ", "[TOOL_CALLS]",
    "<function=get_weather>", "<parameter=city>", "<|channel|>", "<|channel|>analysis<|message|>", "<|start|>assistant", "<|end|>",
    ">>>", " to=", "<|message|>", "get_weather\n{", "functions.get_weather:0", "<invoke name=\"get_weather\">",
    "<parameter name=\"city\">", "<|\"|>", "a", " ", "\n", "ä", "1", ",", ":", "true,", "<arg_key>city</arg_key><arg_value>"};

struct Format {
    std::string name;
    ChatFormat format;
};

std::vector<Format> formats() {
    common_log_pause(common_log_main());
    std::vector<Format> all;
    const std::string   question = R"({"messages": [{"role": "user", "content": "Weather in Lima?"}],)";
    for (const std::string& name : template_names()) {
        try {
            const ChatTemplate chat(source_of(name));
            if (auto rendered = chat.render(question + kTools + "}"); rendered.format) all.push_back({name, *rendered.format});
        } catch (const Error&) {
            // The template supports no tools.
        }
    }
    expect(all.size() > 30, "formats");
    return all;
}

// The longest time that one push() blocked JavaScript's thread.
double longest_push(const ChatFormat& format, const std::string& text, size_t piece) {
    ChatParser parser(format);
    double     longest = 0;
    for (size_t at = 0; at <= text.size(); at += piece) {
        const bool is_last = at + piece > text.size();
        const auto started = Clock::now();
        parser.push(text.substr(at, piece), is_last);
        longest = std::max(longest, seconds_since(started));
    }
    return longest;
}

const Test any_completion("chat: no completion ends the process or blocks it, in any format", [] {
    double      longest = 0;
    std::string which;
    for (const auto& [name, format] : formats()) {
        for (const std::string& beginning : {std::string(), std::string("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": ")}) {
            for (const std::string& piece : kPieces) {
                const std::string text = beginning + repeated(piece, 20'000);
                const double      took = longest_push(format, text, 4'000);
                if (took > longest) longest = took, which = name + " with " + piece.substr(0, 20);
                if (took > 20) fail(name + " takes " + std::to_string(took) + " s for " + piece);
            }
        }
    }
    if (std::getenv("CHASQUI_SHOW_TIMES") != nullptr) fail("the longest: " + std::to_string(longest) + " s, " + which);
});

}  // namespace
