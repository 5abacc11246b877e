// Thread: any, once built.
#pragma once

#include "../core/job.h"

#include <cstddef>
#include <functional>
#include <vector>

struct llama_vocab;

namespace chasqui {

// The vocabulary as a tree: a token is below all tokens whose text is a prefix of its own.
//
//   "{"  ▸  "{\""  ▸  "{\"a"          A text that cannot continue with "{" cannot continue with any of these.
//
// So all tokens that a grammar allows can be found without asking about the whole vocabulary.
class TokenTree {
public:
    // Removes the tokens from the list that are not allowed.
    using Filter = std::function<void(std::vector<TokenId>&)>;

    explicit TokenTree(const llama_vocab* vocab);

    // All tokens that `filter` leaves. It is called level by level, only with children of tokens that it left, and with
    // all end-of-generation tokens, which are not part of the tree.
    std::vector<TokenId> search(const Filter& filter) const;
    // The same, but calls `filter` with every token: for grammars that do not match tokens by their text.
    std::vector<TokenId> search_all(const Filter& filter) const;

    // Whether the token consists of whole characters.
    bool holds_characters(TokenId token) const { return holds_characters_[static_cast<size_t>(token)]; }

private:
    std::vector<bool>    holds_characters_;
    std::vector<TokenId> end_tokens_;
    std::vector<TokenId> tokens_;  // by text
    std::vector<size_t>  ends_;    // [i]: after the last token below tokens_[i]
    std::vector<size_t>  places_;  // of each token id: its index in tokens_
};

}  // namespace chasqui
