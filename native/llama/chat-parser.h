// Thread: one at a time.
#pragma once

#include "chat-template.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// New parts of a completion. The fields that are present are listed in the order in which the model produced them.
struct ChatDelta {
    std::string reasoning;
    std::string content;
    int32_t     tool_index = -1;  // of the call that the fields below belong to; -1: none
    std::string tool_id;          // with the name, in a call's first delta
    std::string tool_name;
    std::string tool_arguments;  // a piece of JSON
};

// Splits a completion into reasoning, content and tool calls while it is generated, with the parser that llama.cpp
// makes for the template. That parser always parses the whole text, so it is called only when there may be something
// new for it, which is never while content or reasoning just continues, and for at most a tenth of the time.
//
// Never throws for what a model writes: what does not fit the format is content.
class ChatParser {
public:
    // After a parse no other starts for `pause_factor` times as long as it took, unless the text has ended. Throws
    // `invalid_job` for a format that did not come from a ChatTemplate.
    explicit ChatParser(const ChatFormat& format, int pause_factor = 9);
    ~ChatParser();

    // Appends to the text. New parts may be returned by this call or a later one, at the latest by the one with
    // `is_last`.
    std::vector<ChatDelta> push(const std::string& text, bool is_last);
    // Where the reasoning ends in the text, in UTF-16 code units; 0 when there is none.
    uint32_t reasoning_units() const;
    // How often the whole text has been parsed.
    uint32_t n_parses() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace chasqui
