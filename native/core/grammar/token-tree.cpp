#include "token-tree.h"

#include <algorithm>
#include <utility>

namespace chasqui {

TokenTree::TokenTree(const std::vector<std::string>& texts, std::vector<bool> left_out)
    : left_out_(std::move(left_out)) {
    for (size_t token = 0; token < texts.size(); ++token) {
        begins_.push_back(static_cast<uint32_t>(texts_.size()));
        texts_ += texts[token];
        if (texts[token].empty()) left_out_[token] = true;
        if (left_out_[token]) continue;
        max_length_ = std::max(max_length_, texts[token].size());
        places_.push_back({static_cast<TokenId>(token), 0, 0});
    }
    begins_.push_back(static_cast<uint32_t>(texts_.size()));
    std::sort(places_.begin(), places_.end(), [&](const Place& a, const Place& b) {
        return text(a.token) < text(b.token);
    });

    std::vector<uint32_t> open;  // places that the current text begins with
    for (uint32_t at = 0; at < places_.size(); ++at) {
        const std::string_view current = text(places_[at].token);
        if (at > 0) {
            const std::string_view previous = text(places_[at - 1].token);
            const size_t           n        = std::min(current.size(), previous.size());
            places_[at].n_shared            = static_cast<uint32_t>(
                std::mismatch(current.begin(), current.begin() + static_cast<std::ptrdiff_t>(n), previous.begin()).first -
                current.begin());
        }
        while (!open.empty() && text(places_[open.back()].token).size() > places_[at].n_shared) {
            places_[open.back()].end = at;
            open.pop_back();
        }
        open.push_back(at);
    }
    for (const uint32_t at : open) places_[at].end = static_cast<uint32_t>(places_.size());
}

std::vector<TokenId> TokenTree::search(GrammarMatcher& matcher, GrammarMatcher::State state) const {
    std::vector<TokenId>               found;
    std::vector<GrammarMatcher::State> path(max_length_ + 1);  // after each byte of the last text that was followed
    size_t                             n_followed = 0;         // bytes of it that are allowed
    path[0]                                       = state;
    for (size_t at = 0; at < places_.size();) {
        const Place& place = places_[at];
        if (place.n_shared > n_followed) {  // begins with bytes that are refused
            at = place.end;
            continue;
        }
        const std::string_view bytes = text(place.token);
        for (n_followed = place.n_shared; n_followed < bytes.size(); ++n_followed) {
            path[n_followed + 1] = matcher.after_byte(path[n_followed], bytes[n_followed]);
            if (path[n_followed + 1] == GrammarMatcher::kRefused) break;
        }
        const bool is_allowed = n_followed == bytes.size();
        if (is_allowed) found.push_back(place.token);
        at = is_allowed ? at + 1 : place.end;
    }
    return found;
}

}  // namespace chasqui
