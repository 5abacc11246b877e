#include "likely-text.h"

#include "../utf8-buffer.h"

#include <cctype>

namespace chasqui {

void LikelyText::learn(GrammarMatcher& matcher, GrammarMatcher::State state, std::string_view text) {
    for (const char byte : text) {
        // Between other characters there is rarely optional space.
        if (!is_json_space(byte) && std::ispunct(static_cast<unsigned char>(written_.last)) != 0) {
            const GrammarMatcher::NextByte next = matcher.next_byte(state);
            const bool is_optional = next.byte == byte && (next.allows_space || !written_.space.empty());
            if (is_optional && (habits_.size() < kMaxHabits || habits_.count({written_.last, byte}) > 0)) {
                habits_[{written_.last, byte}] = written_.space;
            }
        }
        written_.follow(byte);
        state = matcher.after_byte(state, byte);
        if (state == GrammarMatcher::kRefused) return;  // matched as a token instead of text
    }
}

std::string LikelyText::after(GrammarMatcher& matcher, GrammarMatcher::State state, size_t n_max) const {
    std::string text;
    Position    at = written_;
    while (text.size() < n_max && !matcher.may_end(state)) {
        const GrammarMatcher::NextByte next = matcher.next_byte(state);
        if (!next.byte) break;
        char byte = *next.byte;
        if (next.allows_space) {
            const std::string space = space_between(at.last, byte);
            const size_t      n     = at.space.size();
            if (space.size() > n && space.compare(0, n, at.space) == 0) byte = space[n];
        }
        state = matcher.after_byte(state, byte);
        if (state == GrammarMatcher::kRefused) break;  // other white space than here is usual elsewhere
        text += byte;
        at.follow(byte);
    }
    return Utf8Buffer().push(text);
}

void LikelyText::Position::follow(char byte) {
    if (!is_json_space(byte)) {
        last = byte;
        space.clear();
    } else if (space.size() < kMaxSpace) {
        space += byte;
    }
}

std::string LikelyText::space_between(char last, char next) const {
    const auto habit = habits_.find({last, next});
    if (habit != habits_.end()) return habit->second;
    return last == ':' || last == ',' ? " " : "";
}

}  // namespace chasqui
