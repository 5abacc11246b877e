// Thread: any.
#pragma once

#include "../chat/control-tokens.h"
#include "model.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

// The tokens of several texts, concatenated.
struct TokenLists {
    std::vector<TokenId> tokens;
    // By text. If the last text is too long, its tokens are missing; its length is negative if only a lower bound is
    // known.
    std::vector<int32_t> lengths;

    // Adds a text of at least `min_tokens` tokens. False if it has more than `max_tokens`; if `min_tokens` already
    // exceeds that, `tokenize` is not called.
    bool add(size_t min_tokens, size_t max_tokens, const std::function<std::vector<TokenId>()>& tokenize);
};

// Text ↔ tokens of one model.
class Tokenizer {
public:
    explicit Tokenizer(const Model& model) : Tokenizer(model.vocab()) {}
    // A vocabulary without a model.
    explicit Tokenizer(const llama_vocab* vocab);

    // `add_special` adds the model's BOS and EOS tokens; `parse_special` parses the names of special tokens in the
    // text. If a prompt is sealed (control-tokens.h), it parses only those of the template.
    std::vector<TokenId> tokenize(std::string_view text, bool add_special, bool parse_special) const;
    // The tokens of `text` as they are after `before`, both without special tokens. If no token begins there, as they
    // are alone; empty if that changes the text.
    std::vector<TokenId> continuation(std::string_view before, std::string_view text) const;
    // Lower bound for the tokens of a text with this many bytes, from the length of the longest token. 0 for
    // vocabularies that merge unknown text of any length into one token, or drop whitespace.
    size_t min_tokens(size_t bytes) const { return drops_text_ ? 0 : bytes / max_piece_length_; }

    // The token's bytes; for a control token, its name.
    std::string      spelled(TokenId token) const;
    // The token's bytes; empty for control tokens.
    std::string_view piece(TokenId token) const;
    bool             is_end_of_generation(TokenId token) const;
    const std::vector<TokenId>& end_of_generation_tokens() const { return end_tokens_; }
    // Positions of control tokens other than end-of-generation tokens, which begin messages in templates.
    std::vector<size_t> message_starts(const std::vector<TokenId>& prompt) const;
    bool             is_valid(TokenId token) const;
    const ControlTokens& control_tokens() const { return control_tokens_; }
    int32_t          vocabulary_size() const { return static_cast<int32_t>(offsets_.size()) - 1; }

private:
    std::vector<TokenId> tokenize_text(std::string_view text, bool add_special, bool parse_special) const;

    const llama_vocab*  vocab_;
    ControlTokens       control_tokens_;
    std::string         pieces_;   // of all tokens, concatenated
    std::vector<size_t>  offsets_;  // where each piece begins, and the end
    std::vector<bool>   ends_generation_;
    std::vector<bool>   starts_message_;
    std::vector<TokenId> end_tokens_;
    size_t               max_piece_length_ = 1;
    bool                 drops_text_       = false;
};

}  // namespace chasqui
