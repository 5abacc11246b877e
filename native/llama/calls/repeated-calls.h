// Thread: any.
#pragma once

#include <chat.h>

#include <vector>

namespace chasqui {

// Removes calls that equal an earlier one, regardless of the order of members. An incomplete call is removed if an earlier
// one has the same name; if `is_last`, only if an earlier one begins with its text. Arguments with more than 64 levels, or
// more than 1000 members in an object, are treated as incomplete.
void drop_repeated_calls(std::vector<common_chat_tool_call>& calls, bool is_last);

}  // namespace chasqui
