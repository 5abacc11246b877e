#include "message-order.h"

#include "../../core/error-code.h"
#include "../calls/generic-tools.h"

#include <common.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace chasqui {

namespace {

using Messages = MessageOrder::Messages;

// Enough to recognize a message.
constexpr size_t kExcerptBytes = 48;

std::string join(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + "\n\n" + b; }

common_chat_msg message_of(const std::string& role, const std::string& content) {
    common_chat_msg message;
    message.role    = role;
    message.content = content;
    return message;
}

std::string placeholder(size_t index) { return "Text" + std::to_string(index) + "Z"; }

// A conversation, and the texts of each message that must be in its prompt.
struct Sample {
    Messages                              messages;
    std::vector<std::vector<std::string>> texts;
};

// S: system, U: user, A: assistant, C: a call, X: text and a call, P: two calls, T: the result of the next call.
Sample sample_of(const char* kinds) {
    Sample sample;
    size_t n_texts = 0, n_calls = 0, n_results = 0;
    std::optional<size_t> pair_at;
    for (; *kinds != '\0'; ++kinds) {
        const char      kind    = *kinds;
        common_chat_msg message = message_of(
            kind == 'S' ? "system" : kind == 'U' ? "user" : kind == 'T' ? "tool" : "assistant", "");
        std::vector<std::string> texts;
        if (kind != 'C' && kind != 'P') texts.push_back(message.content = placeholder(n_texts++));
        for (int n = kind == 'P' ? 2 : kind == 'C' || kind == 'X' ? 1 : 0; n > 0; --n) {
            texts.push_back(placeholder(n_texts++));
            message.tool_calls.push_back(
                {"get_weather", "{\"city\": \"" + texts.back() + "\"}", "abcdefgh" + std::to_string(n_calls++)});
        }
        if (kind == 'T') message.tool_call_id = "abcdefgh" + std::to_string(n_results++);
        // The first of two results may come before the second call.
        if (kind == 'P') pair_at = sample.texts.size();
        if (kind == 'T' && pair_at) {
            sample.texts[*pair_at].push_back(texts[0]);
            texts.clear();
        }
        sample.messages.push_back(std::move(message));
        sample.texts.push_back(std::move(texts));
    }
    return sample;
}

// The index of the first list with a text that is not in the prompt exactly once, or before those of earlier lists.
std::optional<size_t> find_missing(const std::string& prompt, const std::vector<std::vector<std::string>>& lists) {
    size_t end = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
        size_t last = end;
        for (const std::string& text : lists[i]) {
            const size_t at = prompt.find(text);
            if (at == std::string::npos || at < end || prompt.find(text, at + 1) != std::string::npos) return i;
            last = std::max(last, at);
        }
        end = last;
    }
    return std::nullopt;
}

Messages split_calls(const Messages& messages) {
    Messages split;
    for (size_t i = 0; i < messages.size(); ++i) {
        if (messages[i].tool_calls.size() < 2) {
            split.push_back(messages[i]);
            continue;
        }
        Messages results;
        for (size_t at = i + 1; at < messages.size() && messages[at].role == "tool"; ++at) results.push_back(messages[at]);
        const size_t    n_results = results.size();
        common_chat_msg message   = messages[i];
        for (const common_chat_tool_call& call : messages[i].tool_calls) {
            message.tool_calls = {call};
            split.push_back(message);
            message.content.clear();
            message.reasoning_content.clear();
            const auto result = std::find_if(results.begin(), results.end(), [&](const common_chat_msg& each) {
                return each.tool_call_id == call.id;
            });
            if (result == results.end()) continue;
            split.push_back(*result);
            results.erase(result);
        }
        split.insert(split.end(), results.begin(), results.end());
        i += n_results;
    }
    return split;
}

Messages write_beside(Messages messages) {
    bool is_written = false;
    for (common_chat_msg& message : messages) {
        if (message.role == "tool") {
            if (is_written) message = message_of("user", result_as_text(message));
            continue;
        }
        is_written = !message.tool_calls.empty() && !message.content.empty();
        if (!is_written) continue;
        message.content = calls_as_text(message);
        message.tool_calls.clear();
    }
    return messages;
}

Messages split_text(const Messages& messages) {
    Messages split;
    for (const common_chat_msg& message : messages) {
        split.push_back(message);
        if (message.tool_calls.empty() || message.content.empty()) continue;
        split.back().tool_calls.clear();
        split.push_back(message);
        split.back().content.clear();
        split.back().reasoning_content.clear();
    }
    return split;
}

// Merges each message of `role` into the one before it if that has the role `into` and no calls.
Messages merge(const Messages& messages, const std::string& role, const std::string& into) {
    Messages merged;
    for (const common_chat_msg& message : messages) {
        const bool joins = !merged.empty() && message.role == role && merged.back().role == into &&
                           (merged.back().tool_calls.empty() || message.content.empty());
        if (!joins) {
            merged.push_back(message);
            continue;
        }
        common_chat_msg& last  = merged.back();
        last.content           = join(last.content, message.content);
        last.reasoning_content = join(last.reasoning_content, message.reasoning_content);
        last.tool_calls.insert(last.tool_calls.end(), message.tool_calls.begin(), message.tool_calls.end());
    }
    return merged;
}

// Moves the text of all system messages to the beginning.
Messages merge_system(const Messages& messages, bool prepends) {
    std::string text;
    Messages    rest;
    for (const common_chat_msg& message : messages) {
        if (message.role == "system") {
            text = join(text, message.content);
        } else {
            rest.push_back(message);
        }
    }
    if (rest.size() == messages.size()) return rest;
    if (!prepends) {
        rest.insert(rest.begin(), message_of("system", text));
    } else if (!rest.empty() && rest[0].role == "user") {
        rest[0].content = join(text, rest[0].content);
    } else {
        rest.insert(rest.begin(), message_of("user", text));
    }
    return rest;
}

}  // namespace

MessageOrder::MessageOrder(const Render& render) {
    struct Probe {
        bool Rules::*            rule;
        std::vector<const char*> conversations;
    };
    // A rule holds if more of its conversations are complete with it than without it.
    const std::vector<const char*> systems = {"SU", "SUAU", "SUCT", "SSU", "SUASU", "UASU"};
    const Probe                    probes[] = {
        {&Rules::write_calls, {"UCT"}},
        {&Rules::merge_users, {"UUAU"}},
        {&Rules::merge_assistants, {"UAAU"}},
        {&Rules::merge_results, {"UCTUA"}},
        {&Rules::split_calls, {"UPTT"}},
        {&Rules::split_text, {"UXTA"}},
        {&Rules::write_beside, {"UXTA"}},
        {&Rules::merge_system, systems},
        {&Rules::prepend_system, systems},
    };
    const auto is_complete = [&](const char* kinds, const Rules& rules) {
        const Sample                          sample = sample_of(kinds);
        std::vector<std::vector<std::string>> first, rest;
        for (size_t i = 0; i < sample.texts.size(); ++i) {
            const bool moves = sample.messages[i].role == "system" && (rules.merge_system || rules.prepend_system);
            (moves ? first : rest).push_back(sample.texts[i]);
        }
        first.insert(first.end(), rest.begin(), rest.end());
        try {
            return !find_missing(render(arrange(sample.messages, rules)), first);
        } catch (const std::exception&) {
            return false;
        }
    };
    const auto count = [&](const std::vector<const char*>& conversations, const Rules& rules) {
        return static_cast<size_t>(std::count_if(conversations.begin(), conversations.end(),
                                                 [&](const char* kinds) { return is_complete(kinds, rules); }));
    };
    for (const auto& [rule, conversations] : probes) {
        Rules changed = rules_;
        changed.*rule = true;
        const size_t n = count(conversations, rules_);
        if (n < conversations.size() && count(conversations, changed) > n) rules_ = changed;
    }
}

Messages MessageOrder::arrange(Messages messages) const { return arrange(std::move(messages), rules_); }

Messages MessageOrder::arrange(Messages messages, const Rules& rules) {
    for (common_chat_msg& message : messages) {
        if (message.role == "developer") message.role = "system";
        if (!rules.write_calls || message.tool_calls.empty()) continue;
        message.content = calls_as_text(message);
        message.tool_calls.clear();
    }
    if (rules.split_calls) messages = split_calls(messages);
    if (rules.write_beside) messages = write_beside(std::move(messages));
    if (rules.split_text) messages = split_text(messages);
    if (rules.merge_system || rules.prepend_system) messages = merge_system(messages, rules.prepend_system);
    if (rules.merge_assistants) messages = merge(messages, "assistant", "assistant");
    if (rules.merge_users) messages = merge(messages, "user", "user");
    if (rules.merge_results) messages = merge(messages, "user", "tool");
    return messages;
}

// Templates may change a text. If one is missing, the conversation is rendered again with placeholders instead.
void MessageOrder::check(const std::string& prompt, const Messages& messages, const Render& render) {
    size_t at = 0;
    for (const common_chat_msg& message : messages) {
        const std::string text = string_strip(message.content);
        const size_t      n    = std::min(text.size(), kExcerptBytes);
        at                     = prompt.find(text.substr(text.size() - n), at);
        if (at == std::string::npos) break;
        at += n;
    }
    if (at != std::string::npos) return;

    Messages                              placeholders = messages;
    std::vector<std::vector<std::string>> texts(messages.size());
    for (size_t i = 0; i < messages.size(); ++i) {
        for (common_chat_tool_call& call : placeholders[i].tool_calls) call.arguments = "{}";
        if (string_strip(messages[i].content).empty()) continue;
        texts[i] = {placeholders[i].content = placeholder(i)};
    }
    std::string again;
    try {
        again = render(placeholders);
    } catch (const std::exception&) {
        return;  // the template requires other texts
    }
    if (const std::optional<size_t> missing = find_missing(again, texts)) {
        throw Error(ErrorCode::template_failed, "The model's chat template drops or moves message " +
                                                    std::to_string(*missing + 1) + " of this conversation (role `" +
                                                    messages[*missing].role + "`).");
    }
}

}  // namespace chasqui
