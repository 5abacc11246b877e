// Thread: one at a time.
#pragma once

#include "chat-template.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// New parts of a completion, in the order of generation.
struct ChatDelta {
    std::string reasoning;
    std::string content;
    int32_t     tool_index = -1;  // of the tool call that the fields below belong to; -1: none
    std::string tool_id;          // only in the first delta of a call, like the name
    std::string tool_name;
    std::string tool_arguments;  // a piece of JSON
};

// Splits a completion into reasoning, content and tool calls while it is generated, with the parser that llama.cpp
// generates for the template. That parser always parses the whole text. So it is not called while content or reasoning
// merely continues, and it may take at most a tenth of the time.
//
// The output of a model never causes an exception: text that does not match the format is content.
class ChatParser {
public:
    // After a parse, the next one waits for `pause_factor` times its duration, unless the text has ended. Throws
    // `invalid_job` if the format was not made by a ChatTemplate.
    explicit ChatParser(const ChatFormat& format, int pause_factor = 9);
    ~ChatParser();

    // Appends to the text. New parts are returned by this call or a later one, all of them by the call with `is_last`.
    std::vector<ChatDelta> push(const std::string& text, bool is_last);
    // The end of the reasoning in the text, in UTF-16 code units; 0 without reasoning.
    uint32_t reasoning_units() const;
    // Whether a required call was repeated. The rest of the text has no effect.
    bool repeats() const;
    // How often the whole text has been parsed.
    uint32_t n_parses() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace chasqui
