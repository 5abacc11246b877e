// Thread: any, once built.
#pragma once

#include "grammar-matcher.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

// The texts of a vocabulary, sorted. A token is followed by all tokens that begin with its text:
//
//   "{"    "{\""    "{\"a"    "}"        If a grammar refuses "{", it refuses the next two as well.
//
// Finds all tokens that a grammar allows without checking the whole vocabulary.
class TokenTree {
public:
    // Both by token. Tokens that are left out, and those without text, are never found.
    TokenTree(const std::vector<std::string>& texts, std::vector<bool> left_out);

    size_t           n_tokens() const { return left_out_.size(); }
    bool             has(TokenId token) const { return !left_out_[static_cast<size_t>(token)]; }
    std::string_view text(TokenId token) const {
        const auto at = static_cast<size_t>(token);
        return std::string_view(texts_).substr(begins_[at], begins_[at + 1] - begins_[at]);
    }
    // Returns the tokens that may follow `state` by their texts. Throws like the matcher.
    std::vector<TokenId> search(GrammarMatcher& matcher, GrammarMatcher::State state) const;

private:
    struct Place {
        TokenId  token;
        uint32_t n_shared;  // bytes in common with the previous place
        uint32_t end;       // place of the first token that does not begin with this one
    };
    std::string           texts_;     // of all tokens
    std::vector<uint32_t> begins_;    // by token: index in texts_
    std::vector<bool>     left_out_;  // by token
    std::vector<Place>    places_;    // sorted by text
    size_t                max_length_ = 0;
};

}  // namespace chasqui
