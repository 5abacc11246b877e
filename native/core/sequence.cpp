#include "sequence.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

double milliseconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

Sequence::Sequence(Job job, size_t n_draft_max)
    : tokens(job.prompt),
      sampler(std::make_unique<Sampler>(job.sampling, job.constraint, job.reasoning_budget)),
      model_draft_length(n_draft_max),
      submitted_at(Clock::now()),
      job_(std::move(job)),
      stop_(job_.stop, job_.format_stops) {
    if (job_.media) embeddings.resize(job_.media->images.size());
    for (const TokenId token : tokens) {
        if (token >= 0) sampler->accept_prompt(token);
    }
}

const ImageChunk* Sequence::next_chunk() const { return media() == nullptr ? nullptr : media()->chunk_at(n_computed); }

size_t Sequence::run_length() const {
    return media() == nullptr ? n_pending() : media()->run_end(n_computed, tokens.size()) - n_computed;
}

int32_t Sequence::position(size_t token) const {
    return media() == nullptr ? static_cast<int32_t>(token) : media()->position(token);
}

bool Sequence::needs_encoding(size_t image, size_t n_cached) const {
    return embeddings[image] == nullptr && media()->is_needed(image, n_cached);
}

void Sequence::admit(int32_t to_slot, size_t n_kept, Clock::time_point now) {
    slot       = to_slot;
    n_computed = n_kept;
    status     = n_sampled() == 0 ? SequenceStatus::prefilling : SequenceStatus::decoding;
    if (was_admitted_) return;
    was_admitted_ = true;
    scheduled_at  = now;
    n_cached_     = n_kept;
}

void Sequence::advance(size_t n_tokens) {
    n_computed += n_tokens;
    if (media() != nullptr && n_computed >= media()->end()) std::fill(embeddings.begin(), embeddings.end(), nullptr);
}

void Sequence::end_reasoning() {
    ends_reasoning = sampler == nullptr;  // the slow sampler uses the budget
    if (!ends_reasoning && job_.reasoning_budget) job_.reasoning_budget->end();
}

void Sequence::preempt() {
    slot       = kNoSlot;
    n_computed = 0;
    status     = SequenceStatus::queued;
}

void Sequence::drop_prefix() {
    n_computed = 0;
    n_cached_  = 0;
}

std::string Sequence::accept(TokenId token, std::string_view piece, bool is_end, size_t context_length) {
    last_token_at = Clock::now();
    if (n_sampled() == 0) first_token_at = last_token_at;
    tokens.push_back(token);
    status = SequenceStatus::decoding;

    const bool  in_format = is_in_format();
    std::string text      = is_end ? std::string() : stop_.push(utf8_.push(piece), in_format);
    if (!stop_.matched().empty() || is_end || ends_next) {
        status = SequenceStatus::stopped;
    } else if (static_cast<int32_t>(n_sampled()) == job_.max_tokens || tokens.size() >= context_length) {
        status = SequenceStatus::length_reached;
    }
    if (is_over(status) && stop_.matched().empty()) {
        text += stop_.push(utf8_.flush(), in_format);
        text += stop_.flush();
    }
    return text;
}

bool Sequence::is_in_format() {
    // The token that ends reasoning still belongs to it.
    const bool was_inside = std::exchange(in_reasoning_, job_.reasoning_budget && job_.reasoning_budget->is_inside());
    return was_inside || in_reasoning_ || (job_.constraint && job_.constraint->is_call());
}

Finish Sequence::finish() const {
    Finish finish;
    finish.status            = status;
    finish.stop_string       = stop_.matched();
    finish.prompt_tokens     = static_cast<int32_t>(n_prompt());
    finish.cached_tokens     = static_cast<int32_t>(n_cached_);
    finish.drafted_tokens    = static_cast<int32_t>(n_drafted);
    finish.accepted_tokens   = static_cast<int32_t>(n_accepted);
    finish.completion_tokens = static_cast<int32_t>(n_sampled());
    finish.timings           = {milliseconds_between(submitted_at, scheduled_at),
                                milliseconds_between(scheduled_at, first_token_at),
                                milliseconds_between(first_token_at, last_token_at)};
    return finish;
}

}  // namespace chasqui
