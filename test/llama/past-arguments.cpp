#include "chat-templates.h"

#include "core/error-code.h"
#include "llama/chat/chat-template.h"
#include "llama/chat/past-arguments.h"

#include <json.h>
#include <log.h>

#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const std::pair<std::string, std::string> kTexts[] = {
    {R"({"a": 1})", R"({"a": 1})"},
    {R"( {"a": {"b": [1, "}"]}} )", R"( {"a": {"b": [1, "}"]}} )"},
    {"", "{}"},
    {" \n", "{}"},
    {"null", "{}"},
    // Arguments truncated by a token limit.
    {"{", "{}"},
    {R"({"pa)", "{}"},
    {R"({"path")", "{}"},
    {R"({"path":)", "{}"},
    {R"({"path": "a.tx)", R"({"path": "a.tx"})"},
    {R"({"path": "a\)", R"({"path": "a"})"},
    {R"({"path": "a\u00)", R"({"path": "a"})"},
    {R"({"path": "a\\)", R"({"path": "a\\"})"},
    {R"({"path": "a", "te)", R"({"path": "a"})"},
    {R"({"path": "a", )", R"({"path": "a"})"},
    {R"({"at": 12)", R"({"at": 12})"},
    {R"({"at": 12, "to": -)", R"({"at": 12})"},
    {R"({"at": tru)", "{}"},
    {R"({"all": [{"a": 1}, {"b": "x, {)", R"({"all": [{"a": 1}, {"b": "x, {"}]})"},
    {R"({"all": [1, 2)", R"({"all": [1, 2]})"},
    // What is no beginning of an object.
    {"[1, 2]", R"({"arguments":"[1, 2]"})"},
    {"[1, 2", R"({"arguments":"[1, 2"})"},
    {"\"Lima\"", R"({"arguments":"\"Lima\""})"},
    {"{'city': 'Lima'}", R"({"arguments":"{'city': 'Lima'}"})"},
    {R"({"a": 1}})", R"({"arguments":"{\"a\": 1}}"})"},
    {R"({"a": 1]})", R"({"arguments":"{\"a\": 1]}"})"},
    {"Lima", R"({"arguments":"Lima"})"},
};

const Test texts("chat: the arguments of past calls become objects, which hold what the model wrote", [] {
    for (const auto& [text, object] : kTexts) expect_equal(to_argument_object(text), object);
});

const Test beginnings("chat: the arguments of past calls may end anywhere", [] {
    const std::string whole =
        R"({"path": "\u00e4\\\"/a.txt", "all": [{"x": -1.5e3, "y": [true, null, []]}, {}], "text": "a, b: {c} [d]\n"})";
    for (size_t size = 0; size <= whole.size(); ++size) {
        const common_json object = common_json::parse(to_argument_object(whole.substr(0, size)));
        expect(object.is_object() && !object.contains("arguments"), whole.substr(0, size) + " to be completed");
    }
    const std::string deep(100'000, '[');
    expect(common_json::parse(to_argument_object("{\"a\":" + deep)).contains("arguments"), "to give up what is too deep");
});

std::string conversation_with(const std::string& arguments) {
    return R"([{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call12345", "type": "function", "function": {"name": "get_weather", "arguments": )" +
           common_json::make(arguments).dump() + R"(}}]},
        {"role": "tool", "tool_call_id": "call12345", "content": "No such city."},
        {"role": "assistant", "content": "Hm."}, {"role": "user", "content": "Well?"}])";
}

const Test templates("chat: a call that was cut off does not spoil its conversation, whatever the template", [] {
    common_log_pause(common_log_main());
    for (const std::string& name : template_names()) {
        const ChatTemplate& chat = template_of(name);
        if (!chat.capabilities().tools) continue;
        for (const char* arguments : {"", "{\"city\": \"Li", "nonsense", "[1]"}) {
            const std::string text =
                chat.render("{\"messages\": " + conversation_with(arguments) + "," + kTools + "}").text;
            expect(text.find("Well?") != std::string::npos, name + " to render a call with " + arguments);
        }
    }
});

}  // namespace
