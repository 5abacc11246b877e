// Templates by name, beside what llama.cpp writes for the same names.
#include "../native/check.h"

#include "core/error-code.h"
#include "llama/chat/chat-template.h"
#include "llama/chat/named-templates.h"

#include <llama.h>
#include <log.h>

#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Conversation = std::vector<std::pair<std::string, std::string>>;

const std::vector<Conversation> kConversations = {
    {{"user", "Hi"}},
    {{"system", "Be brief."}, {"user", " Who are you? "}},
    {{"system", "Be \"brief\" & <kind>."}, {"user", "One\nTwo"}, {"assistant", " Three "}, {"user", "Four"}},
    {{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}, {"user", "e"}},
};

std::string by_llama(const std::string& name, const Conversation& conversation) {
    std::vector<llama_chat_message> chat;
    for (const auto& [role, content] : conversation) chat.push_back({role.c_str(), content.c_str()});
    std::vector<char> text(10'000);
    const int32_t     size = llama_chat_apply_template(name.c_str(), chat.data(), chat.size(), true, text.data(),
                                                       static_cast<int32_t>(text.size()));
    expect(size >= 0, "that llama.cpp knows " + name);
    return {text.data(), static_cast<size_t>(size)};
}

std::string in_json(const std::string& text) {
    std::string json;
    for (const char each : text) json += each == '\n' ? "\\n" : each == '"' ? "\\\"" : std::string(1, each);
    return "\"" + json + "\"";
}

std::string by_jinja(const ChatTemplate& chat, const Conversation& conversation) {
    std::string messages;
    for (const auto& [role, content] : conversation) {
        messages += (messages.empty() ? "" : ", ") + std::string("{\"role\": ") + in_json(role) + ", \"content\": " +
                    in_json(content) + "}";
    }
    return chat.render("{\"messages\": [" + messages + "]}").text;
}

const Test parity("named-templates: each writes what llama.cpp writes", [] {
    common_log_pause(common_log_main());
    expect(known_templates().size() > 20, "many names");
    for (const std::string& name : known_templates()) {
        const ChatTemplate chat(template_source(name));
        for (const Conversation& conversation : kConversations) {
            const std::string ours = by_jinja(chat, conversation), theirs = by_llama(name, conversation);
            if (ours != theirs) fail(name + " writes " + ours + " and not " + theirs);
        }
    }
});

const Test others("named-templates: a template is itself, and other names are refused", [] {
    expect_equal(template_source("{{ messages[0].content }}"), "{{ messages[0].content }}");
    const Error error = expect_throws<Error>([] { template_source("lama3"); });
    expect(error.code() == ErrorCode::invalid_options, "the code");
    expect(std::string(error.what()).find("llama3") != std::string::npos, "the names that are known");
});

const Test escapes("named-templates: strings contain the escapes of Python", [] {
    common_log_pause(common_log_main());
    const ChatTemplate chat(R"({{ '\xe9\u2581\ud83d\ude00\U0001f600\d\u12\n' }}{{ messages[0].content }})");
    expect(by_jinja(chat, {{"user", "Hi"}}) == "\u00e9\u2581\U0001f600\U0001f600\\d\\u12\nHi", "the text");
});

}  // namespace
