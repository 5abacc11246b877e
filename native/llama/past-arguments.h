// Thread: any.
#pragma once

#include <string>

namespace chasqui {

// The arguments of a past tool call as a JSON object, whatever text the call came with. Templates read them as JSON, so
// that one call whose arguments are none would have every later turn of its conversation refused.
//
//   {"a": 1}             stays
//   nothing, null        {}
//   {"a": 1, "b": "tw    {"a": 1, "b": "tw"}, which is what is left where a limit of tokens ended the call
//   anything else        {"arguments": "..."} with the text, so that the model sees what it wrote
std::string to_argument_object(const std::string& text);

}  // namespace chasqui
