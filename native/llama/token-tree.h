// Thread: any, once built.
#pragma once

#include "../core/job.h"

#include <cstddef>
#include <functional>
#include <vector>

struct llama_vocab;

namespace chasqui {

// The vocabulary ordered by text, so that a token lies below every token that its text begins with:
//
//   "{"  ▸  "{\""  ▸  "{\"a"          A text that cannot go on with "{" cannot go on with any of these.
//
// Whoever must know all tokens that a grammar allows need not ask about the whole vocabulary.
class TokenTree {
public:
    // Removes from the list what is refused.
    using Filter = std::function<void(std::vector<TokenId>&)>;

    explicit TokenTree(const llama_vocab* vocab);

    // All tokens that `filter` leaves, asked for level by level. End-of-generation tokens have no place in the tree:
    // they are always asked for.
    std::vector<TokenId> search(const Filter& filter) const;
    // The same, without relying on the order: asks for every token.
    std::vector<TokenId> search_all(const Filter& filter) const;

    // Whether the token begins and ends between two characters.
    bool holds_characters(TokenId token) const { return holds_characters_[static_cast<size_t>(token)]; }

private:
    std::vector<bool>    holds_characters_;
    std::vector<TokenId> end_tokens_;
    std::vector<TokenId> tokens_;  // by text
    std::vector<size_t>  ends_;    // [i]: behind the last token whose text begins with that of tokens_[i]
    std::vector<size_t>  places_;  // of each token id in tokens_
};

}  // namespace chasqui
