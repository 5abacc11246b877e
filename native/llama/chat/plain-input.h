// Thread: any.
#pragma once

#include "chat-template.h"
#include "control-tokens.h"

#include <json.h>

#include <string>

namespace chasqui {

// Texts to mark in a prompt's input: control tokens of the vocabulary, or the markup that the template searches for
// (template-markers.h).
struct InputMarks {
    const ControlTokens& texts;
    // For the system and the user.
    ControlTokens::Exempts exempts = nullptr;

    bool mark(std::string& text) const { return texts.mark(text, exempts); }
};

// Marks these texts in all strings and names (control-tokens.h). True if there are any.
bool mark_value(common_json& value, const InputMarks& marks);
// The same for messages. Arguments of calls are JSON text. Reasoning at the beginning of the assistant's content keeps
// its tags, which templates search for.
bool mark_messages(common_json& messages, const InputMarks& marks, const ReasoningTags& tags);
// Seals a prompt that contains marks. Its end, and thus a mark in a continued message, is also part of the grammar and of
// the parser.
void seal(RenderedPrompt& rendered);

}  // namespace chasqui
