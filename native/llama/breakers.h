// Thread: any.
#pragma once

#include "../core/job.h"
#include "tokenizer.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

// Finds the tokens that write the texts at which repetitions end (`DrySettings`). That takes a pass over the vocabulary
// for each text, so the last result is kept: nearly all requests name the same texts.
class BreakerFinder {
public:
    // More and longer texts are refused with `invalid_job`.
    static constexpr size_t kMaxTexts = 16;
    static constexpr size_t kMaxBytes = 160;

    // `tokenizer` must outlive this object.
    explicit BreakerFinder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    // nullptr when there are no texts.
    std::shared_ptr<const Breakers> find(const std::vector<std::string>& texts) const;

private:
    void add(const std::string& text, Breakers& to) const;

    const Tokenizer& tokenizer_;

    mutable std::mutex                      mutex_;
    mutable std::vector<std::string>        last_texts_;
    mutable std::shared_ptr<const Breakers> last_;
};

}  // namespace chasqui
