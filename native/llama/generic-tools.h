// Thread: any.
#pragma once

#include <chat-auto-parser.h>
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
// llama.cpp parses completions and generates grammars as if this were the template's format.
class GenericTools {
public:
    // `source`: the template. Throws llama.cpp's exceptions if it cannot analyse the template.
    explicit GenericTools(const std::string& source);

    // Converts tools, past calls and their results to text in the messages. `inputs.tools` is unchanged.
    static void describe_as_text(common_chat_templates_inputs& inputs);

    // Like common_chat_templates_apply(), for messages converted by describe_as_text().
    common_chat_params apply(const common_chat_templates* templates, const common_chat_templates_inputs& inputs) const;

private:
    common_chat_template   template_;  // the analysis refers to it
    autoparser::autoparser analysis_;
};

}  // namespace chasqui
