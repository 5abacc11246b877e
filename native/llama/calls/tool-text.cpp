#include "tool-text.h"

#include <chat.h>
#include <json.h>

#include <utility>

namespace chasqui {

namespace {

std::string functions_of(const std::vector<common_chat_tool>& tools) {
    common_json functions = common_json::array();
    for (const common_json& tool : common_chat_tools_to_json_oaicompat(tools)) functions.push_back(tool.at("function"));
    return functions.dump(4);
}

}  // namespace

void add_tool_text(common_chat_templates_inputs& inputs, ToolText text, const CallFormat& format) {
    if (inputs.tools.empty()) return;
    if (text == ToolText::in_variable) {
        inputs.chat_template_kwargs.emplace("functions", common_json::make(functions_of(inputs.tools)).dump());
    } else if (text == ToolText::added) {
        add_signatures(inputs.messages, inputs.tools,
                       "For each function call, return the function name and its arguments in exactly this format:\n" +
                           example_of(format));
    }
}

void add_signatures(std::vector<common_chat_msg>& messages, const std::vector<common_chat_tool>& tools,
                    const std::string& instructions) {
    std::string text =
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n";
    for (const common_json& tool : common_chat_tools_to_json_oaicompat(tools)) text += tool.dump() + "\n";
    text += "</tools>\n\n" + instructions;
    if (messages.empty() || (messages[0].role != "system" && messages[0].role != "developer")) {
        common_chat_msg system;
        system.role = "system";
        messages.insert(messages.begin(), std::move(system));
    }
    messages[0].content += (messages[0].content.empty() ? "" : "\n\n") + text;
}

}  // namespace chasqui
