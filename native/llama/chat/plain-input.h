// Thread: any.
#pragma once

#include "chat-template.h"
#include "control-tokens.h"

#include <json.h>

namespace chasqui {

// Mark the text of control tokens in all strings and names (control-tokens.h). True if there is any.
bool mark_value(common_json& value, const ControlTokens& control);
// The same for messages. Arguments of calls are JSON text. Reasoning at the beginning of the assistant's content keeps
// its tags, which templates search for.
bool mark_messages(common_json& messages, const ControlTokens& control, const ReasoningTags& tags);

}  // namespace chasqui
