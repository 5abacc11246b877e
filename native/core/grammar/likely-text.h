// Thread: one at a time.
#pragma once

#include "grammar-matcher.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace chasqui {

// Predicts the text that a grammar lets expect next. The text is certain while only one byte can follow. Grammars for
// JSON also allow white space nearly everywhere: there, the text is assumed to have the same white space as before
// between the same two characters.
//
//   written so far    {"city": "Rome",
//   predicted         ␣"country": "
class LikelyText {
public:
    // `text` was appended in `state`.
    void learn(GrammarMatcher& matcher, GrammarMatcher::State state, std::string_view text);
    // The text that follows `state`, where the learned text ends: at most about `n_max` bytes, whole characters.
    std::string after(GrammarMatcher& matcher, GrammarMatcher::State state, size_t n_max) const;

private:
    static constexpr size_t kMaxHabits = 64, kMaxSpace = 32;

    struct Position {
        char        last = 0;  // the last character that is no white space
        std::string space;     // since then

        void follow(char byte);
    };

    std::string space_between(char last, char next) const;

    std::map<std::pair<char, char>, std::string> habits_;  // white space by the characters around it
    Position                                     written_;
};

}  // namespace chasqui
