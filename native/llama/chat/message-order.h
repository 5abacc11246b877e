// Thread: any, once built.
#pragma once

#include <chat.h>

#include <functional>
#include <string>
#include <vector>

namespace chasqui {

// Arranges conversations so that the template shows each message once and in order. Many templates drop or refuse system
// messages after the first one, messages of one role in a row, text beside calls, or several calls at once. Rendering
// probes at load shows which; where the template supports a conversation as it is, it stays unchanged.
class MessageOrder {
public:
    using Messages = std::vector<common_chat_msg>;
    // Renders messages to a prompt. May throw.
    using Render = std::function<std::string(const Messages&)>;

    MessageOrder() = default;
    explicit MessageOrder(const Render& render);

    Messages arrange(Messages messages) const;
    // Throws `template_failed` if the prompt of arranged messages lacks one of them.
    static void check(const std::string& prompt, const Messages& messages, const Render& render);

private:
    // What arrange() changes.
    struct Rules {
        bool write_calls      = false;  // calls become text of the assistant
        bool write_beside     = false;  // calls beside text become text, and their results text of the user
        bool split_calls      = false;  // each call and its result come before the next call
        bool split_text       = false;  // text beside calls becomes a message before them
        bool merge_assistants = false;  // messages of the assistant in a row become one
        bool merge_users      = false;
        bool merge_results    = false;  // a user message after a result becomes part of it
        bool merge_system     = false;  // all system messages become the first message
        bool prepend_system   = false;  // ... or the beginning of the first user message
    };
    static Messages arrange(Messages messages, const Rules& rules);

    Rules rules_;
};

}  // namespace chasqui
