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
    // Of each text. If the last text is too long, its tokens are left out; its length is then negative if only a lower
    // bound of it is known.
    std::vector<int32_t> lengths;

    // Adds a text of at least `min_tokens` tokens. False when it has more than `max_tokens`; if `min_tokens` shows that
    // already, `tokenize` is not called.
    bool add(size_t min_tokens, size_t max_tokens, const std::function<std::vector<TokenId>()>& tokenize);
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
    // The fewest tokens that a text of this many bytes can have, from the length of the longest token. 0 for
    // vocabularies that make one token of unknown text, however long, or none of blanks.
    size_t min_tokens(size_t bytes) const { return drops_text_ ? 0 : bytes / max_piece_length_; }

    // The token's bytes; of a control token its name.
    std::string      spelled(TokenId token) const;
    // The bytes that the token adds to a text, none for control tokens.
    std::string_view piece(TokenId token) const;
    bool             is_end_of_generation(TokenId token) const;
    const std::vector<TokenId>& end_of_generation_tokens() const { return end_tokens_; }
    // Positions of control tokens other than end-of-generation tokens. Templates begin messages with them.
    std::vector<size_t> message_starts(const std::vector<TokenId>& prompt) const;
    bool             is_valid(TokenId token) const;
    int32_t          vocabulary_size() const { return static_cast<int32_t>(offsets_.size()) - 1; }

private:
    const llama_vocab*  vocab_;
    std::string         pieces_;   // of all tokens, concatenated
    std::vector<size_t> offsets_;  // where each begins, and the end
    std::vector<bool>   ends_generation_;
    std::vector<bool>   starts_message_;
    std::vector<TokenId> end_tokens_;
    size_t               max_piece_length_ = 1;
    bool                 drops_text_       = false;
};

}  // namespace chasqui
