// How a step's logits become tokens.
#include "engine.h"

#include <algorithm>
#include <new>
#include <utility>

namespace chasqui {

namespace {

// Below this many logits a step is sampled faster by one thread than others are woken.
constexpr size_t kWorthSharing = size_t{1} << 19;
// A sequence's grammar may hold a step up for this share of its time, or for this long where steps are short. What takes
// longer is sampled aside.
constexpr double kSamplingShare = 0.25;
constexpr double kLeastShareMs  = 2.0;

}  // namespace

void Engine::share_step(double milliseconds) {
    sampling_share_ms_ = std::max(kLeastShareMs, kSamplingShare * milliseconds);
}

void Engine::sample(const Plan& plan) {
    std::vector<RowOutcome> outcomes(plan.rows.size());
    const auto              produce_row = [&](size_t i) {
        try {
            produce(plan.rows[i], i, outcomes[i]);
        } catch (const Error& error) {
            outcomes[i].failure = Failure{error.code(), error.what()};
        } catch (const std::exception& error) {
            outcomes[i].failure = Failure{ErrorCode::decode_failed, error.what()};
        }
    };
    const auto n_logits = plan.rows.size() * static_cast<size_t>(tokenizer_.vocabulary_size());
    if (n_logits >= kWorthSharing) {
        samplers_.run(plan.rows.size(), produce_row);
    } else {
        for (size_t i = 0; i < plan.rows.size(); ++i) produce_row(i);
    }
    for (size_t i = 0; i < plan.rows.size(); ++i) take_outcome(plan.rows[i], outcomes[i]);
}

// Samples the row's next token, and the one after it for as long as the sampled tokens are those of the draft: the
// logits after a drafted token are then the ones that the next step would have computed. Touches nothing but its own
// sequence.
void Engine::produce(const PlanRow& row, size_t plan_row, RowOutcome& outcome) {
    Sequence& sequence = *row.sequence;
    if (decoder_.logits(plan_row) == nullptr) return;
    size_t n_accepted = 0;
    while (sample_token(sequence, decoder_.logits(plan_row, n_accepted), outcome)) {
        const bool accepts = n_accepted < row.draft.size() && row.draft[n_accepted] == outcome.produced.back().token;
        if (!accepts || is_over(sequence.status)) break;
        ++n_accepted;
    }
    sequence.n_accepted += n_accepted;
    sequence.n_computed += n_accepted;
    if (row.draft_length != nullptr) row.draft_length->observe(row.draft.size(), n_accepted);
}

// False when the constraint takes longer than its share of the step: what it takes to go on aside is in `outcome` then.
bool Engine::sample_token(Sequence& sequence, float* logits, RowOutcome& outcome) {
    if (!sequence.sampling_pace.is_slow() && sample_within_share(sequence, logits, outcome)) return true;
    outcome.aside         = std::make_unique<SlowSample>();
    outcome.aside->job_id = sequence.id();
    outcome.aside->n_top  = sequence.job().top_logprobs;
    outcome.aside->logits.assign(logits, logits + tokenizer_.vocabulary_size());
    return false;
}

bool Engine::sample_within_share(Sequence& sequence, float* logits, RowOutcome& outcome) const {
    using Milliseconds    = std::chrono::duration<double, std::milli>;
    const int32_t n_vocab = tokenizer_.vocabulary_size(), n_top = sequence.job().top_logprobs;
    const auto    share   = std::chrono::duration_cast<Clock::duration>(Milliseconds(sampling_share_ms_));
    Sampler&      sampler = *sequence.sampler;
    const auto    started = Clock::now();
    if (sampler.is_constrained()) sampler.deadline().set(started + share);
    try {
        const TokenId           token = sampler.sample(logits, n_vocab);
        std::optional<Logprobs> logprobs;
        if (n_top >= 0) logprobs = logprobs_of(logits, n_vocab, token, n_top);
        // A constraint whose accept() was broken off is of no more use, so this one has no deadline.
        sampler.deadline().lift();
        sampler.accept(token);
        const double took = Milliseconds(Clock::now() - started).count();
        if (sampler.is_constrained()) sequence.sampling_pace.took(took, sampling_share_ms_);
        outcome.produced.push_back(accept(sequence, token, std::move(logprobs)));
        return true;
    } catch (const ConstraintTimeout&) {
        sequence.sampling_pace.took(sampling_share_ms_, sampling_share_ms_);
        return false;
    }
}

Engine::Produced Engine::accept(Sequence& sequence, TokenId token, std::optional<Logprobs> logprobs) const {
    const bool is_end = tokenizer_.is_end_of_generation(token);
    return {token, sequence.accept(token, piece(sequence.job(), token), is_end, context_length_), std::move(logprobs)};
}

void Engine::take_outcome(const PlanRow& row, RowOutcome& outcome) {
    Sequence& sequence = *row.sequence;
    for (size_t i = 0; i < outcome.produced.size(); ++i) {
        emit(sequence, std::move(outcome.produced[i]), i + 1 == outcome.produced.size());
    }
    if (outcome.failure) return fail(&sequence, *std::move(outcome.failure));
    if (!row.draft.empty()) decoder_.trim(sequence.slot, sequence.position(sequence.n_computed));
    if (outcome.aside) {
        outcome.aside->sampler = std::move(sequence.sampler);
        slow_samples_.submit(std::move(outcome.aside));
    }
    if (is_over(sequence.status)) end(&sequence);
}

void Engine::emit(const Sequence& sequence, Produced produced, bool is_last) {
    if (produced.logprobs) {
        produced.logprobs->chosen.bytes = tokenizer_.piece(produced.token);
        for (TokenLogprob& each : produced.logprobs->top) each.bytes = tokenizer_.piece(each.id);
    }
    std::optional<Finish> finish;
    if (is_last && is_over(sequence.status)) {
        finish = sequence.finish();
        ++counts_.jobs_finished;
        counts_.prompt_tokens += sequence.n_prompt();
        counts_.completion_tokens += sequence.n_sampled();
        counts_.drafted_tokens += sequence.n_drafted;
        counts_.accepted_tokens += sequence.n_accepted;
    }
    outbox_.add_token(sequence.id(), produced.token, produced.text, std::move(produced.logprobs), std::move(finish));
}

}  // namespace chasqui
