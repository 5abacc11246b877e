// Thread: any.
#pragma once

#include <chat.h>

#include <vector>

namespace chasqui {

// Removes the first call that equals an earlier one, regardless of the order of members, and all calls after it. Returns
// whether there was one. An incomplete call is removed if an earlier one has the same name; if `is_last`, only if an earlier one begins with its text. Arguments with more than 64 levels, or
// more than 1000 members in an object, are treated as incomplete.
bool drop_repeated_calls(std::vector<common_chat_tool_call>& calls, bool is_last);

}  // namespace chasqui
