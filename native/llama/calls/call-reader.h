// Thread: any.
#pragma once

#include <chat.h>
#include <peg-parser.h>

namespace chasqui {

// Converts a parse by a parser of call-parser.h to reasoning, content and calls. Only the last call may be incomplete; its
// arguments are then a prefix of those in later parses.
void read_calls(const common_peg_ast_arena& ast, const common_peg_parse_result& result, common_chat_msg& message);

}  // namespace chasqui
