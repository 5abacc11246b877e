#include "plain-input.h"

namespace chasqui {

namespace {

bool mark_object(common_json& object, const InputMarks& marks) {
    bool        is_marked = false;
    common_json marked    = common_json::object();
    for (const auto& [name, value] : object.items()) {
        std::string key = name;
        is_marked       = marks.mark(key) || is_marked;
        is_marked       = mark_value(value, marks) || is_marked;
        marked[key]     = value;
    }
    if (is_marked) object = marked;
    return is_marked;
}

bool mark_arguments(common_json& call, const InputMarks& marks) {
    common_json&      function = call.at("function");
    const common_json json     = function.value("arguments", common_json());
    if (!json.is_string()) return mark_value(call, marks);
    common_json arguments = common_json::parse_no_throw(json.get<std::string>());
    const bool   is_json   = !arguments.is_discarded() && mark_value(arguments, marks);
    if (is_json) function["arguments"] = arguments.dump();
    return mark_value(call, marks) || is_json;
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
    // A message that is continued may end in its reasoning.
    if (span.rest == 0) span = {begin, content.size(), content.size()};
    return span;
}

bool mark_content(common_json& content, const InputMarks& marks, const ReasoningTags& tags) {
    const std::string text         = content.get<std::string>();
    const auto [begin, end, rest]  = find_reasoning(text, tags);
    std::string       reasoning    = text.substr(begin, end - begin), reply = text.substr(rest);
    const bool        is_marked    = marks.mark(reasoning);
    if (!marks.mark(reply) && !is_marked) return false;
    content = text.substr(0, begin) + reasoning + text.substr(end, rest - end) + reply;
    return true;
}

}  // namespace

bool mark_value(common_json& value, const InputMarks& marks) {
    bool is_marked = false;
    if (value.is_object()) return mark_object(value, marks);
    if (value.is_array()) {
        for (common_json& each : value) is_marked = mark_value(each, marks) || is_marked;
    } else if (value.is_string()) {
        std::string text = value.get<std::string>();
        is_marked        = marks.mark(text);
        if (is_marked) value = text;
    }
    return is_marked;
}

bool mark_messages(common_json& messages, const InputMarks& marks, const ReasoningTags& tags) {
    const InputMarks everywhere{marks.texts};
    bool             is_marked = false;
    for (common_json& message : messages) {
        const std::string role      = message.at("role").get<std::string>();
        const bool        is_exempt = role != "assistant" && role != "tool";
        for (const auto& [name, value] : message.items()) {
            if (name == "role") continue;
            if (name == "content" && value.is_string() && role == "assistant") {
                is_marked = mark_content(value, everywhere, tags) || is_marked;
            } else if (name == "tool_calls") {
                for (common_json& call : value) is_marked = mark_arguments(call, everywhere) || is_marked;
            } else {
                is_marked = mark_value(value, is_exempt ? marks : everywhere) || is_marked;
            }
        }
    }
    return is_marked;
}

void seal(RenderedPrompt& rendered) {
    rendered.text     = ControlTokens::seal(rendered.text);
    const auto unmark = [](std::string& text) { text = ControlTokens::unmarked(text); };
    if (rendered.reasoning) unmark(rendered.reasoning->prompt_end);
    if (rendered.format) {
        unmark(rendered.format->parser);
        unmark(rendered.format->generation_prompt);
    }
    if (rendered.grammar) {
        unmark(rendered.grammar->gbnf);
        unmark(rendered.grammar->prefill);
    }
}

}  // namespace chasqui
