// Thread: any, once built.
#pragma once

#include "../core/job.h"

#include <cstddef>
#include <functional>
#include <vector>

struct llama_vocab;

namespace chasqui {

// The vocabulary as a tree: a token is below all tokens that are a prefix of its text.
//
//   "{"  ▸  "{\""  ▸  "{\"a"          If a grammar refuses "{", it refuses all of these.
//
// Finds all tokens that a grammar allows without checking the whole vocabulary.
class TokenTree {
public:
    // Removes the tokens that are not allowed.
    using Filter = std::function<void(std::vector<TokenId>&)>;

    explicit TokenTree(const llama_vocab* vocab);

    // All allowed tokens. `filter` is called level by level with the children of allowed tokens, and with all
    // end-of-generation tokens, which are not part of the tree.
    std::vector<TokenId> search(const Filter& filter) const;
    // The same, but filters every token: for grammars that do not match tokens by their text.
    std::vector<TokenId> search_all(const Filter& filter) const;

    // Whether the token consists of complete characters.
    bool holds_characters(TokenId token) const { return holds_characters_[static_cast<size_t>(token)]; }

private:
    std::vector<bool>    holds_characters_;
    std::vector<TokenId> end_tokens_;
    std::vector<TokenId> tokens_;  // sorted by text
    std::vector<size_t>  ends_;    // [i]: end of the tokens below tokens_[i]
    std::vector<size_t>  places_;  // by token id: index in tokens_
};

}  // namespace chasqui
