#include "reasoning-pairs.h"

#include <algorithm>

namespace chasqui {

static constexpr const char* kBlanks = " \t\r\n";

const std::vector<ReasoningPair>& usual_reasoning_pairs() {
    static const std::vector<ReasoningPair> kPairs = {
        {"<think>", {"</think>"}},
        {"<thinking>", {"</thinking>"}},
        {"<thought>", {"</thought>"}},
        {"<reason>", {"</reason>"}},
        {"<reasoning>", {"</reasoning>"}},
        {"<seed:think>", {"</seed:think>"}},
        {"<mm:think>", {"</mm:think>"}},
        {"<longcat_think>", {"</longcat_think>"}},
        {"[THINK]", {"[/THINK]"}},
        {"◁think▷", {"◁/think▷"}},
        {"<|begin_of_thought|>", {"<|end_of_thought|>"}},
        {"<|START_THINKING|>", {"<|END_THINKING|>"}},
        {"<|inner_prefix|>", {"<|inner_suffix|>"}},
    };
    return kPairs;
}

std::optional<size_t> open_reasoning(const std::string& prompt, const std::vector<ReasoningPair>& pairs) {
    std::optional<size_t> open;
    size_t                last = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
        const size_t at = prompt.rfind(pairs[i].start);
        if (at == std::string::npos || (open && at < last)) continue;
        open = i;
        last = at;
    }
    if (open && find_end(prompt.substr(last + pairs[*open].start.size()), pairs[*open])) return std::nullopt;
    return open;
}

std::optional<ClosingTag> find_end(const std::string& text, const ReasoningPair& pair) {
    std::optional<ClosingTag> first;
    for (const std::string& end : pair.ends) {
        const size_t at = text.find(end);
        if (at != std::string::npos && (!first || at < first->at)) first = {at, end.size()};
    }
    return first;
}

std::optional<size_t> ReasoningStart::push(std::string_view text) {
    if (!is_undecided_) return std::nullopt;
    text_ += text;
    text_.erase(0, text_.find_first_not_of(kBlanks));
    is_undecided_ = false;
    for (size_t i = 0; i < pairs_.size(); ++i) {
        const std::string& start = pairs_[i].start;
        const std::string  tag   = start.substr(std::min(start.find_first_not_of(kBlanks), start.size()));
        if (text_.compare(0, tag.size(), tag) == 0) return i;
        is_undecided_ = is_undecided_ || tag.compare(0, text_.size(), text_) == 0;
    }
    return std::nullopt;
}

}  // namespace chasqui
