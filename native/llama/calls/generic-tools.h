// Thread: any.
#pragma once

#include <chat.h>

#include <string>

namespace chasqui {

// The message's text and its calls, in the format below.
std::string calls_as_text(const common_chat_msg& message);
std::string result_as_text(const common_chat_msg& message);

// Tools for a template without a format for them. Tools are described in the system message. Calls and results are text
// in the format of Hermes and Qwen, which most models have seen in training:
//
//   <tools>                              system
//   {"type": "function", "function": {"name": "get_weather", ...}}
//   </tools>
//
//   <tool_call>                          assistant
//   {"name": "get_weather", "arguments": {"city": "Lima"}}
//   </tool_call>
//
//   <tool_response>                      user
//   Overcast
//   </tool_response>
//
// generic_format() of call-format.h parses them.
//
// Converts tools, past calls and their results to text in the messages. `inputs.tools` is unchanged.
void describe_tools_as_text(common_chat_templates_inputs& inputs);

}  // namespace chasqui
