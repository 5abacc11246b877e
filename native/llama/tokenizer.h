// Thread: any.
#pragma once

#include "model.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

// The tokens of several texts, one after another.
struct TokenLists {
    std::vector<TokenId> tokens;
    // Of each text. The last may be that of a text that is too long, whose tokens are not there; it is negative where no
    // more is known than that there are at least as many.
    std::vector<int32_t> lengths;

    // Adds a text of at least `fewest` tokens. False when it has more than `most`, which `tokenize` is not asked about
    // when it can be told without.
    bool add(size_t fewest, size_t most, const std::function<std::vector<TokenId>()>& tokenize);
};

// Text ↔ tokens of one model.
class Tokenizer {
public:
    explicit Tokenizer(const Model& model) : Tokenizer(model.vocab()) {}
    // A vocabulary without a model.
    explicit Tokenizer(const llama_vocab* vocab);

    // `add_special` adds the tokens that begin (or end) every text of this model; `parse_special` reads the names of
    // special tokens in the text as those tokens.
    std::vector<TokenId> tokenize(std::string_view text, bool add_special, bool parse_special) const;
    // A text of this many bytes has at least this many tokens, since no token is longer than the longest one. 0 where a
    // vocabulary makes one token of what it does not know, however long, or nothing of blanks.
    size_t fewest_tokens(size_t bytes) const { return drops_text_ ? 0 : bytes / longest_piece_; }

    // The token's bytes as a text spells them; control tokens by their names.
    std::string      spelled(TokenId token) const;
    // The bytes that the token adds to a text; control tokens add none.
    std::string_view piece(TokenId token) const;
    bool             is_end_of_generation(TokenId token) const;
    const std::vector<TokenId>& end_of_generation_tokens() const { return end_tokens_; }
    // Positions of the control tokens, other than those that end a generation: templates begin messages with them.
    std::vector<size_t> message_starts(const std::vector<TokenId>& prompt) const;
    bool             is_valid(TokenId token) const;
    int32_t          vocabulary_size() const { return static_cast<int32_t>(offsets_.size()) - 1; }

private:
    const llama_vocab*  vocab_;
    std::string         pieces_;   // of all tokens, one after another
    std::vector<size_t> offsets_;  // where each begins, and the end
    std::vector<bool>   ends_generation_;
    std::vector<bool>   starts_message_;
    std::vector<TokenId> end_tokens_;
    size_t              longest_piece_ = 1;
    bool                drops_text_    = false;
};

}  // namespace chasqui
