#include "plain-input.h"

namespace chasqui {

namespace {

bool mark_object(common_json& object, const ControlTokens& control) {
    bool        is_marked = false;
    common_json marked    = common_json::object();
    for (const auto& [name, value] : object.items()) {
        std::string key = name;
        is_marked       = control.mark(key) || is_marked;
        is_marked       = mark_value(value, control) || is_marked;
        marked[key]     = value;
    }
    if (is_marked) object = marked;
    return is_marked;
}

bool mark_arguments(common_json& call, const ControlTokens& control) {
    common_json&      function = call.at("function");
    const common_json json     = function.value("arguments", common_json());
    if (!json.is_string()) return mark_value(call, control);
    common_json arguments = common_json::parse_no_throw(json.get<std::string>());
    const bool   is_json   = !arguments.is_discarded() && mark_value(arguments, control);
    if (is_json) function["arguments"] = arguments.dump();
    return mark_value(call, control) || is_json;
}

// Reasoning between tags at the beginning of the content, and the text behind the closing tag. All 0: none.
struct ReasoningSpan {
    size_t begin = 0, end = 0, rest = 0;
};

ReasoningSpan find_reasoning(const std::string& content, const ReasoningTags& tags) {
    const size_t  start = content.find_first_not_of(" \n\r\t");
    ReasoningSpan span;
    if (tags.start.empty() || start == std::string::npos || content.compare(start, tags.start.size(), tags.start) != 0) {
        return span;
    }
    const size_t begin = start + tags.start.size();
    for (const std::string& tag : tags.ends) {
        const size_t at = content.find(tag, begin);
        if (at != std::string::npos && (span.rest == 0 || at < span.end)) span = {begin, at, at + tag.size()};
    }
    return span;
}

bool mark_content(common_json& content, const ControlTokens& control, const ReasoningTags& tags) {
    const std::string text         = content.get<std::string>();
    const auto [begin, end, rest]  = find_reasoning(text, tags);
    std::string       reasoning    = text.substr(begin, end - begin), reply = text.substr(rest);
    const bool        is_marked    = control.mark(reasoning);
    if (!control.mark(reply) && !is_marked) return false;
    content = text.substr(0, begin) + reasoning + text.substr(end, rest - end) + reply;
    return true;
}

}  // namespace

bool mark_value(common_json& value, const ControlTokens& control) {
    bool is_marked = false;
    if (value.is_object()) return mark_object(value, control);
    if (value.is_array()) {
        for (common_json& each : value) is_marked = mark_value(each, control) || is_marked;
    } else if (value.is_string()) {
        std::string text = value.get<std::string>();
        is_marked        = control.mark(text);
        if (is_marked) value = text;
    }
    return is_marked;
}

bool mark_messages(common_json& messages, const ControlTokens& control, const ReasoningTags& tags) {
    bool is_marked = false;
    for (common_json& message : messages) {
        for (const auto& [name, value] : message.items()) {
            if (name == "role") continue;
            const bool is_reply = name == "content" && value.is_string() && message.at("role") == "assistant";
            if (is_reply) {
                is_marked = mark_content(value, control, tags) || is_marked;
            } else if (name == "tool_calls") {
                for (common_json& call : value) is_marked = mark_arguments(call, control) || is_marked;
            } else {
                is_marked = mark_value(value, control) || is_marked;
            }
        }
    }
    return is_marked;
}

}  // namespace chasqui
