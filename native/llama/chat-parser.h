// Thread: one at a time.
#pragma once

#include "chat-template.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// What an answer grew by. The fields that are not empty came in this order.
struct ReplyDelta {
    std::string reasoning;
    std::string content;
    int32_t     tool_index = -1;  // of the call that the following belong to; -1: none
    std::string tool_id;          // with the name, in a call's first delta
    std::string tool_name;
    std::string tool_arguments;   // JSON, a piece of it
};

// Takes an answer apart as it comes: reasoning, content and tool calls, by the parser that llama.cpp makes for the
// template. That parser knows only whole texts, so that each call costs as much as the text is long; it is therefore
// called when there may be something new for it only, and for at most a tenth of the time: never while content or
// reasoning just goes on.
//
// Never throws for what a model writes: what does not fit the format is content.
class ChatParser {
public:
    // After a parse no other begins for `rest` times as long as it took, unless the text is at its end. Throws
    // `invalid_job` for a format that did not come from a ChatTemplate.
    explicit ChatParser(const ReplyFormat& format, int rest = 9);
    ~ChatParser();

    // Adds to the text. What is news may be told in this call or in a later one, and in the one with `is_last` at the
    // latest.
    std::vector<ReplyDelta> push(const std::string& text, bool is_last);
    // How much of the text the reasoning and all before it take, in UTF-16 code units; 0 when there is none.
    uint32_t reasoning_units() const;
    // How often the whole text has been parsed.
    uint32_t n_parses() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace chasqui
