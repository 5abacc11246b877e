// Thread: one at a time.
#pragma once

#include "../core/job.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

// Waits for one of some words in a text that comes token by token, and keeps no more of the text than it needs.
class TriggerWords {
public:
    explicit TriggerWords(std::vector<std::string> words) : words_(std::move(words)) {
        for (const std::string& word : words_) longest_ = std::max(longest_, word.size());
    }

    bool empty() const { return words_.empty(); }

    // True when the text now holds one of the words; `recent` are then the tokens that it lies in, and maybe some before.
    bool push(TokenId token, const std::string& piece) {
        recent_.push_back(token);
        lengths_.push_back(piece.size());
        text_ += piece;
        const bool found = std::any_of(words_.begin(), words_.end(), [this](const std::string& word) {
            return text_.find(word) != std::string::npos;
        });
        if (found) return true;
        while (text_.size() - lengths_.front() >= longest_) {
            text_.erase(0, lengths_.front());
            lengths_.pop_front();
            recent_.pop_front();
        }
        return false;
    }

    const std::deque<TokenId>& recent() const { return recent_; }
    // Begins anew: the text so far no longer counts.
    void reset() {
        text_.clear();
        lengths_.clear();
        recent_.clear();
    }

private:
    std::vector<std::string> words_;
    size_t                   longest_ = 0;
    std::string              text_;     // of the recent tokens
    std::deque<size_t>       lengths_;  // of each of them, in bytes
    std::deque<TokenId>      recent_;
};

}  // namespace chasqui
