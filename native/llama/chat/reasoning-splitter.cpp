#include "reasoning-splitter.h"

#include "../../core/utf8-buffer.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

size_t n_blanks(const std::string& text) { return std::min(text.find_first_not_of(" \t\r\n"), text.size()); }

// The length of the end of the text that could begin a closing tag.
size_t begun_tag(const std::string& text, const ReasoningPair& pair) {
    size_t longest = 0;
    for (const std::string& tag : pair.ends) {
        for (size_t n = std::min(text.size(), tag.size() - 1); n > longest; --n) {
            if (text.compare(text.size() - n, n, tag, 0, n) == 0) longest = n;
        }
    }
    return longest;
}

}  // namespace

ReasoningSplitter::ReasoningSplitter(const std::string& prompt_end) : start_(usual_reasoning_pairs()) {
    const auto open = open_reasoning(prompt_end, usual_reasoning_pairs());
    if (!open) return;
    pair_  = &usual_reasoning_pairs()[*open];
    state_ = State::inside;
}

ReasoningSplitter::Parts ReasoningSplitter::push(const std::string& text, bool is_last) {
    if (state_ == State::after) return {"", text};
    held_ += text;
    Parts parts;
    if (state_ == State::start) {
        const auto found = start_.push(text);
        if (found) {
            pair_  = &usual_reasoning_pairs()[*found];
            state_ = State::inside;
            drop(n_blanks(held_) + pair_->start.size());
        } else if (is_last || !start_.is_undecided()) {
            state_ = State::after;
        }
    }
    if (state_ == State::inside) parts.reasoning = read_reasoning(is_last);
    if (state_ == State::closed) {
        drop(n_blanks(held_));
        if (!held_.empty()) state_ = State::after;
    }
    if (state_ == State::after) parts.rest = std::exchange(held_, {});
    return parts;
}

std::string ReasoningSplitter::read_reasoning(bool is_last) {
    if (is_blank_) drop(n_blanks(held_));
    const auto  end = find_end(held_, *pair_);
    std::string reasoning = take(end ? end->at : held_.size() - (is_last ? 0 : begun_tag(held_, *pair_)));
    is_blank_             = is_blank_ && reasoning.empty();
    reasoning_units_      = n_units_;
    if (end) {
        drop(end->length);
        state_ = State::closed;
    }
    return reasoning;
}

std::string ReasoningSplitter::take(size_t n_bytes) {
    std::string taken = held_.substr(0, n_bytes);
    drop(n_bytes);
    return taken;
}

void ReasoningSplitter::drop(size_t n_bytes) {
    n_units_ += utf16_length(std::string_view(held_).substr(0, n_bytes));
    held_.erase(0, n_bytes);
}

}  // namespace chasqui
