// Thread: any.
#pragma once

#include <chat.h>

namespace chasqui {

// Renders a conversation. Some templates fail for schemas that they do not expect, such as a property without a type; they
// are rendered with simpler ones.
common_chat_params apply_or_simplify(const common_chat_templates* templates, common_chat_templates_inputs inputs);

}  // namespace chasqui
