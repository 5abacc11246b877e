// Thread: one at a time.
#pragma once

#include "job.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace chasqui {

// Finds the tokens that would go on with a repetition of earlier text, for the sampler `dry`.
class Repetitions {
public:
    static bool is_on(const DrySettings& settings);

    explicit Repetitions(const DrySettings& settings) : settings_(settings) {}

    // The token becomes part of the text, or is part of the prompt.
    void accept(TokenId token);
    // Each token that followed an earlier occurrence of the text's end, with the length of the longest of these
    // occurrences; only those of the allowed length or more. A breaker ends occurrences, and is not returned itself.
    std::vector<std::pair<TokenId, int>> find() const;

private:
    size_t length_since_breaker(size_t n_tokens) const;
    bool   follows(const std::vector<TokenId>& tail, size_t index) const;
    bool   is_breaker(TokenId token) const;
    // The last token of the text has the index 0.
    TokenId from_end(size_t index) const { return text_[text_.size() - 1 - index]; }

    DrySettings          settings_;
    std::vector<TokenId> text_;  // its last `last_n` tokens, or more
};

}  // namespace chasqui
