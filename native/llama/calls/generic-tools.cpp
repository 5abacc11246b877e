#include "generic-tools.h"

#include "tool-text.h"

#include <json.h>

#include <utility>
#include <vector>

namespace chasqui {

namespace {

constexpr const char* kCallStart = "<tool_call>";
constexpr const char* kCallEnd   = "</tool_call>";

constexpr const char* kInstructions =
    "For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML "
    "tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>";

// Many templates require alternating user and assistant messages, so results become one user message, together with
// adjacent text of the user.
std::vector<common_chat_msg> as_plain_messages(std::vector<common_chat_msg> messages) {
    std::vector<common_chat_msg> told;
    bool                         ends_with_result = false;
    for (common_chat_msg& message : messages) {
        const bool is_result = message.role == "tool";
        if (is_result) {
            common_chat_msg user;
            user.role    = "user";
            user.content = result_as_text(message);
            message      = std::move(user);
        } else if (!message.tool_calls.empty()) {
            message.content = calls_as_text(message);
            message.tool_calls.clear();
        }
        const bool joins = !told.empty() && told.back().role == "user" && message.role == "user" &&
                           (is_result || ends_with_result);
        if (joins) {
            told.back().content += "\n" + message.content;
        } else {
            told.push_back(std::move(message));
        }
        ends_with_result = is_result;
    }
    return told;
}

}  // namespace

std::string result_as_text(const common_chat_msg& message) {
    return "<tool_response>\n" + message.content + "\n</tool_response>";
}

std::string calls_as_text(const common_chat_msg& message) {
    std::string text = message.content;
    for (const common_chat_tool_call& call : message.tool_calls) {
        if (!text.empty()) text += "\n";
        text += std::string(kCallStart) + "\n{\"name\": " + common_json::make(call.name).dump() +
                ", \"arguments\": " + call.arguments + "}\n" + kCallEnd;
    }
    return text;
}

void describe_tools_as_text(common_chat_templates_inputs& inputs) {
    inputs.messages = as_plain_messages(std::move(inputs.messages));
    if (!inputs.tools.empty()) add_signatures(inputs.messages, inputs.tools, kInstructions);
}

}  // namespace chasqui
