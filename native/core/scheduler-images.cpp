// The part of the scheduler that decides which images are encoded, and for how long between two steps.
#include "scheduler.h"

#include <algorithm>

namespace chasqui {

namespace {

// Minimum encoding time after a step, as a share of the step's time, even if decoding alone exceeds the target.
constexpr double kMinEncodingShare = 0.5;
// Maximum encoding time between two steps while no sequence decodes, as a multiple of the target.
constexpr double kMaxEncodingFactor = 10.0;

}  // namespace

// Whether the sequence would compute tokens of an image that is not encoded yet if it were placed now.
bool Scheduler::needs_images(const Sequence& sequence) const {
    if (sequence.media() == nullptr) return false;
    const size_t n_cached = n_cached_tokens(sequence);
    for (size_t image = 0; image < sequence.media()->images.size(); ++image) {
        if (sequence.needs_encoding(image, n_cached)) return true;
    }
    return false;
}

// Whether the sequence cannot start before images are encoded; requests their encoding. Embeddings take memory, so only
// as many waiting sequences have theirs encoded as there are slots. Those behind them drop embeddings that they do not
// share.
bool Scheduler::awaits_images(Sequence& sequence, Plan& plan, size_t& n_with_images) const {
    const Media* media    = sequence.media();
    const size_t n_cached = media == nullptr ? 0 : n_cached_tokens(sequence);
    if (media == nullptr || n_cached >= media->end()) return false;
    const bool may_hold = n_with_images < options_.cache.n_slots;
    n_with_images += may_hold ? 1 : 0;
    bool awaits = false;
    for (size_t image = 0; image < media->images.size(); ++image) {
        auto& embeddings = sequence.embeddings[image];
        if (!may_hold && embeddings.use_count() == 1) embeddings = nullptr;
        if (!sequence.needs_encoding(image, n_cached)) continue;
        awaits = true;
        if (may_hold) plan.pending_images.push_back({&sequence, image});
    }
    return awaits;
}

// While no sequence decodes, encoding gets half of the time, limited so that a new request does not wait for long.
double Scheduler::encoding_ms(double step_ms) const {
    const Load load = this->load();
    if (load.n_decoding == 0) return std::min(step_ms, kMaxEncodingFactor * options_.target_step_ms);
    const double least = kMinEncodingShare * std::min(step_ms, options_.target_step_ms);
    // Steps with slices of encoded images alternate with steps of text and take most of the remaining time.
    if (load.first_image != nullptr) return last_was_image_ ? 0 : least;
    return std::max(options_.target_step_ms - step_ms, least);
}

}  // namespace chasqui
