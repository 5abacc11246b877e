// Thread: one at a time.
#pragma once

#include "../../core/reasoning-pairs.h"

#include <cstdint>
#include <optional>
#include <string>

namespace chasqui {

// Separates the usual reasoning tags (reasoning-pairs.h) from the rest of a completion: those at its beginning, or after
// an opening tag in the prompt. Holds back only text that could be a part of a tag.
class ReasoningSplitter {
public:
    explicit ReasoningSplitter(const std::string& prompt_end);

    struct Parts {
        std::string reasoning, rest;
    };
    // New parts; all of them with `is_last`. Whitespace around the tags belongs to neither.
    Parts push(const std::string& text, bool is_last);
    // The end of the reasoning in the text, in UTF-16 code units; 0 without reasoning.
    uint32_t reasoning_units() const { return reasoning_units_; }

private:
    enum class State { start, inside, closed, after };

    void        drop(size_t n_bytes);
    std::string take(size_t n_bytes);
    std::string read_reasoning(bool is_last);

    State                state_ = State::start;
    ReasoningStart       start_;
    const ReasoningPair* pair_ = nullptr;   // of the reasoning
    std::string          held_;             // not returned yet
    bool                 is_blank_ = true;  // only whitespace in the reasoning so far
    uint32_t             n_units_ = 0, reasoning_units_ = 0;
};

}  // namespace chasqui
