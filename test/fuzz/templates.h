#pragma once

#include "llama/chat/chat-template.h"

#include <string>

namespace chasqui::fuzz {

// The number of templates of real models (llama.cpp's models/templates).
size_t n_templates();
// Templates are in the order of their names, and read when they are first used.
const ChatTemplate& chat_template(size_t index);

}  // namespace chasqui::fuzz
