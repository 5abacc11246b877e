#include "token-tree.h"

#include "../core/utf8-buffer.h"

#include <common.h>
#include <llama.h>

#include <algorithm>
#include <string>

namespace chasqui {

namespace {

bool begins_with(const std::string& text, const std::string& prefix) {
    return text.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

TokenTree::TokenTree(const llama_vocab* vocab) {
    const int32_t            n_vocab = llama_vocab_n_tokens(vocab);
    std::vector<std::string> pieces;
    for (TokenId token = 0; token < n_vocab; ++token) {
        pieces.push_back(common_token_to_piece(vocab, token, true));
        Utf8Buffer text;
        holds_characters_.push_back(text.push(pieces.back()) == pieces.back());
        // llama.cpp's grammars refuse tokens without text.
        if (llama_vocab_is_eog(vocab, token)) {
            end_tokens_.push_back(token);
        } else if (!pieces.back().empty() && pieces.back()[0] != 0) {
            tokens_.push_back(token);
        }
    }
    const auto piece_at = [&](size_t at) -> const std::string& { return pieces[static_cast<size_t>(tokens_[at])]; };
    std::sort(tokens_.begin(), tokens_.end(), [&](TokenId a, TokenId b) {
        return pieces[static_cast<size_t>(a)] < pieces[static_cast<size_t>(b)];
    });

    ends_.assign(tokens_.size(), tokens_.size());
    places_.assign(static_cast<size_t>(n_vocab), 0);
    std::vector<size_t> open;  // the ancestors of the current token
    for (size_t at = 0; at < tokens_.size(); ++at) {
        places_[static_cast<size_t>(tokens_[at])] = at;
        while (!open.empty() && !begins_with(piece_at(at), piece_at(open.back()))) {
            ends_[open.back()] = at;
            open.pop_back();
        }
        open.push_back(at);
    }
}

std::vector<TokenId> TokenTree::search(const Filter& filter) const {
    std::vector<TokenId> found = end_tokens_;
    filter(found);
    std::vector<TokenId> level;
    for (size_t at = 0; at < tokens_.size(); at = ends_[at]) level.push_back(tokens_[at]);
    while (!level.empty()) {
        filter(level);
        found.insert(found.end(), level.begin(), level.end());
        std::vector<TokenId> below;
        for (const TokenId token : level) {
            const size_t place = places_[static_cast<size_t>(token)];
            for (size_t at = place + 1; at < ends_[place]; at = ends_[at]) below.push_back(tokens_[at]);
        }
        level = std::move(below);
    }
    return found;
}

std::vector<TokenId> TokenTree::search_all(const Filter& filter) const {
    std::vector<TokenId> found = end_tokens_;
    found.insert(found.end(), tokens_.begin(), tokens_.end());
    filter(found);
    return found;
}

}  // namespace chasqui
