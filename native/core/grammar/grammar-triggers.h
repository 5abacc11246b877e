// Thread: one at a time.
#pragma once

#include "../job.h"

#include <cstddef>
#include <deque>
#include <regex>
#include <string>
#include <vector>

namespace chasqui {

struct GrammarTrigger {
    enum class Kind {
        word,          // matches text regardless of its tokenization
        pattern,       // a regular expression, searched
        full_pattern,  // a regular expression for the entire text so far
    };
    Kind        kind = Kind::word;
    std::string value;
};

// Searches a text that arrives token by token for any of several triggers. Stores only the end of the text, because a
// trigger is short, and std::regex takes longer and recurses deeper the longer the text is.
class GrammarTriggers {
public:
    struct Piece {
        TokenId     token;
        std::string text;
    };

    // Throws std::regex_error.
    explicit GrammarTriggers(const std::vector<GrammarTrigger>& triggers);

    bool push(TokenId token, const std::string& text);
    // Then, the tokens from the trigger on. The text of the first one begins with the trigger. A pattern with groups
    // begins with the first group that matches.
    std::vector<Piece> from_trigger() const;

private:
    void drop_old_tokens();

    std::vector<std::string> words_;
    std::vector<std::regex>  patterns_;
    size_t                   n_kept_;          // bytes that a search needs at least
    std::string              text_;            // of the recent tokens
    std::deque<Piece>        recent_;
    bool                     is_cut_ = false;  // text_ is not the entire text
    size_t                   found_  = 0;
};

}  // namespace chasqui
