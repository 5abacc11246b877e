#pragma once

#include "llama/chat-template.h"

#include <string>

namespace chasqui::fuzz {

// How many templates of real models there are (llama.cpp's models/templates), in the order of their names.
size_t n_templates();
// Read when it is first asked for.
const ChatTemplate& chat_template(size_t index);

}  // namespace chasqui::fuzz
