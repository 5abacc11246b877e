// Thread: one at a time.
#pragma once

#include "job.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace chasqui {

// Finds the tokens that would continue a repetition of earlier text, for the sampler `dry`.
class Repetitions {
public:
    static bool is_on(const SamplingSettings& settings);

    explicit Repetitions(const SamplingSettings& settings);

    // Appends a token of the prompt or of the completion.
    void accept(TokenId token);
    // Each token that followed an earlier occurrence of the text's end, with the length of the longest occurrence, if
    // that is at least the allowed length. A breaker ends occurrences and is not returned itself.
    std::vector<std::pair<TokenId, int>> find() const;

private:
    size_t length_since_breaker(size_t n_tokens) const;
    bool   follows(const std::vector<TokenId>& tail, size_t index) const;
    bool   is_breaker(TokenId token) const;
    // Index 0 is the last token of the text.
    TokenId from_end(size_t index) const { return text_[text_.size() - 1 - index]; }

    bool                            is_on_;
    int32_t                         allowed_length_, last_n_;
    std::shared_ptr<const Breakers> breakers_;
    std::vector<TokenId>            text_;  // its last `last_n_` tokens, or more
};

}  // namespace chasqui
