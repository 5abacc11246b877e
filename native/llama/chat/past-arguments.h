// Thread: any.
#pragma once

#include <json.h>

#include <string>

namespace chasqui {

// The arguments of a past tool call as a JSON object, whatever text the client sent. Templates parse them as JSON, so a
// single invalid call would fail every later turn of its conversation.
//
//   {"a": 1}             unchanged
//   nothing, null        {}
//   {"a": 1, "b": "tw    {"a": 1, "b": "tw"}: repairs a call that was cut by a limit of tokens
//   anything else        {"arguments": "..."} with the text, so the model sees what it wrote
std::string to_argument_object(const std::string& text);

// Converts the arguments of all calls in these messages.
void prepare_arguments(common_json& messages);

}  // namespace chasqui
