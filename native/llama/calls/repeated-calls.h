// Thread: any.
#pragma once

#include <chat.h>

#include <vector>

namespace chasqui {

// Removes calls that equal an earlier one, regardless of the order of members. The last call is held back until it is
// complete if an earlier one has the same name; with `is_last`, until its text differs.
void drop_repeated_calls(std::vector<common_chat_tool_call>& calls, bool is_last);

}  // namespace chasqui
