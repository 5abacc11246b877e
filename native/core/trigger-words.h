// Thread: one at a time.
#pragma once

#include "job.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

// Searches a text that arrives token by token for any of several words. Stores only as much of the text as needed.
class TriggerWords {
public:
    explicit TriggerWords(std::vector<std::string> words) : words_(std::move(words)) {
        for (const std::string& word : words_) max_length_ = std::max(max_length_, word.size());
    }

    bool empty() const { return words_.empty(); }

    // True if the text now contains one of the words. Then recent() returns the tokens that contain it, and maybe some
    // before them.
    bool push(TokenId token, const std::string& piece) {
        recent_.push_back(token);
        lengths_.push_back(piece.size());
        text_ += piece;
        const bool found = std::any_of(words_.begin(), words_.end(), [this](const std::string& word) {
            return text_.find(word) != std::string::npos;
        });
        if (found) return true;
        while (text_.size() - lengths_.front() >= max_length_) {
            text_.erase(0, lengths_.front());
            lengths_.pop_front();
            recent_.pop_front();
        }
        return false;
    }

    // Whether the text ends with a part of a word.
    bool ends_within_word() const {
        return std::any_of(words_.begin(), words_.end(), [this](const std::string& word) {
            for (size_t n = std::min(text_.size(), word.size() - 1); n > 0; --n) {
                if (text_.compare(text_.size() - n, n, word, 0, n) == 0) return true;
            }
            return false;
        });
    }

    const std::deque<TokenId>& recent() const { return recent_; }
    void reset() {
        text_.clear();
        lengths_.clear();
        recent_.clear();
    }

private:
    std::vector<std::string> words_;
    size_t                   max_length_ = 0;
    std::string              text_;     // of the recent tokens
    std::deque<size_t>       lengths_;  // of each recent token, in bytes
    std::deque<TokenId>      recent_;
};

}  // namespace chasqui
