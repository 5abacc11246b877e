// Thread: any.
#pragma once

#include "../../core/job.h"
#include "../model/tokenizer.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

// Finds the tokens of sequence breakers (`dry_breaker_texts`). This scans the vocabulary for each breaker, so the last result
// is cached: nearly all requests use the same breakers.
class BreakerFinder {
public:
    // Limits; exceeding them throws `invalid_job`.
    static constexpr size_t kMaxTexts = 16;
    static constexpr size_t kMaxBytes = 160;

    // `tokenizer` must outlive this object.
    explicit BreakerFinder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    // nullptr without texts.
    std::shared_ptr<const Breakers> find(const std::vector<std::string>& texts) const;

private:
    void add(const std::string& text, Breakers& to) const;

    const Tokenizer& tokenizer_;

    mutable std::mutex                      mutex_;
    mutable std::vector<std::string>        last_texts_;
    mutable std::shared_ptr<const Breakers> last_;
};

}  // namespace chasqui
