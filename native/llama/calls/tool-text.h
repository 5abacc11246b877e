// Thread: any.
#pragma once

#include "call-format.h"

#include <string>
#include <vector>

struct common_chat_msg;
struct common_chat_templates_inputs;
struct common_chat_tool;

namespace chasqui {

// How the prompt describes the tools of a request.
enum class ToolText {
    of_template,
    in_variable,  // the template writes its variable `functions`, as that of firefunction does
    added,        // the template ignores tools: the system message describes them and the format of calls
};

void add_tool_text(common_chat_templates_inputs& inputs, ToolText text, const CallFormat& format);

// Appends signatures of the tools to the system message, followed by the instructions for calls.
void add_signatures(std::vector<common_chat_msg>& messages, const std::vector<common_chat_tool>& tools,
                    const std::string& instructions);

}  // namespace chasqui
