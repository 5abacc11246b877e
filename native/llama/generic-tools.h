// Thread: any.
#pragma once

#include <chat-auto-parser.h>
#include <chat.h>

#include <string>

namespace chasqui {

// Tools for a template that has no form for them. They are described in the system message, and calls and results are
// text, in the form that most models have seen in their training, which is that of Hermes and Qwen:
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
// Completions are parsed and grammars made by llama.cpp, which is told that this is the template's form.
class GenericTools {
public:
    // `source` is the template's. Throws whatever llama.cpp does when it cannot analyse the template.
    explicit GenericTools(const std::string& source);

    // Tells tools, past calls and their results as text. The tools themselves stay.
    static void tell(common_chat_templates_inputs& inputs);

    // The same as common_chat_templates_apply(), for messages that tell() has been given and the tools of which may be
    // called.
    common_chat_params apply(const common_chat_templates* templates, const common_chat_templates_inputs& inputs) const;

private:
    common_chat_template   template_;  // the analysis refers to it
    autoparser::autoparser analysis_;
};

}  // namespace chasqui
