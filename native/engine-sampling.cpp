// The part of the engine that samples the next tokens.
#include "engine.h"

#include "core/largest-logit.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

// With fewer logits in a step, one thread samples faster than others wake up.
constexpr size_t kMinParallelLogits = size_t{1} << 19;
// A sequence's grammar may delay a step by this share of its time, or at least by this long. Slower tokens are left to
// the slow sampler.
constexpr double kSamplingShare      = 0.25;
constexpr double kMinSamplingShareMs = 2.0;

}  // namespace

void Engine::set_sampling_share(double milliseconds) {
    sampling_share_ms_ = std::max(kMinSamplingShareMs, kSamplingShare * milliseconds);
}

void Engine::sample(const Plan& plan) {
    std::vector<RowOutcome> outcomes(plan.rows.size());
    const auto              sample_one = [&](size_t i) {
        try {
            sample_row(plan.rows[i], i, outcomes[i]);
        } catch (const std::exception& error) {
            outcomes[i].failure = Failure::of(error);
        }
    };
    const auto n_logits = plan.rows.size() * static_cast<size_t>(tokenizer_.vocabulary_size());
    if (n_logits >= kMinParallelLogits) {
        samplers_.run(plan.rows.size(), sample_one);
    } else {
        for (size_t i = 0; i < plan.rows.size(); ++i) sample_one(i);
    }
    for (size_t i = 0; i < plan.rows.size(); ++i) take_outcome(plan.rows[i], outcomes[i]);
}

// Samples the row's next token, and further ones while they equal the draft: the logits after a drafted token are those
// that the next step would have computed. Touches only its own sequence.
void Engine::sample_row(const PlanRow& row, size_t plan_row, RowOutcome& outcome) {
    Sequence&    sequence = *row.sequence;
    const size_t n_scored = score_prompt(row, plan_row, outcome);
    if (sequence.n_pending() > 0) return;
    size_t n_accepted = 0;
    while (sample_token(sequence, decoder_.logits(plan_row, n_scored + n_accepted), outcome)) {
        const TokenId sampled = outcome.sampled_tokens.back().token;
        const bool    accepts = n_accepted < row.draft.size() && row.draft[n_accepted] == sampled;
        if (!accepts || is_over(sequence.status)) break;
        ++n_accepted;
    }
    sequence.n_accepted += n_accepted;
    sequence.n_computed += n_accepted;
    if (row.draft_length != nullptr) row.draft_length->observe(row.draft.size(), n_accepted);
}

// Reports the log-probabilities of the prompt tokens after those of the row. Returns how many rows of logits it used. A
// preempted sequence computes tokens again that it has reported.
size_t Engine::score_prompt(const PlanRow& row, size_t plan_row, RowOutcome& outcome) {
    Sequence& sequence = *row.sequence;
    if (!sequence.scores_prompt()) return 0;
    const size_t  begin   = sequence.n_computed - row.n_tokens;
    const size_t  n_used  = std::min(sequence.n_computed, sequence.n_prompt() - 1) - begin;
    const int32_t n_vocab = tokenizer_.vocabulary_size();
    for (size_t i = sequence.n_scored - std::min(sequence.n_scored, begin); i < n_used; ++i) {
        const float* logits = decoder_.logits(plan_row, i);
        check_logits(logits);
        const TokenId token = sequence.tokens[begin + i + 1];
        outcome.prompt_tokens.push_back(logprobs_of(logits, n_vocab, token, sequence.job().prompt_logprobs));
        ++sequence.n_scored;
    }
    return n_used;
}

void Engine::check_logits(const float* logits) const {
    if (are_valid(logits, tokenizer_.vocabulary_size())) return;
    throw Error(ErrorCode::invalid_logits, "The model computed values that are not numbers for this text.");
}

// False if the constraint exceeds its share of the step; then `outcome` has the job for the slow sampler.
bool Engine::sample_token(Sequence& sequence, float* logits, RowOutcome& outcome) {
    check_logits(logits);
    if (!sequence.sampling_pace.is_slow() && sample_within_share(sequence, logits, outcome)) return true;
    outcome.slow_sample         = std::make_unique<SlowSample>();
    outcome.slow_sample->job_id = sequence.id();
    outcome.slow_sample->n_top  = sequence.job().top_logprobs;
    outcome.slow_sample->logits.assign(logits, logits + tokenizer_.vocabulary_size());
    return false;
}

bool Engine::sample_within_share(Sequence& sequence, float* logits, RowOutcome& outcome) const {
    using Milliseconds    = std::chrono::duration<double, std::milli>;
    const int32_t n_vocab = tokenizer_.vocabulary_size(), n_top = sequence.job().top_logprobs;
    const auto    share   = std::chrono::duration_cast<Clock::duration>(Milliseconds(sampling_share_ms_));
    Sampler&      sampler = *sequence.sampler;
    const auto    started = Clock::now();
    if (sampler.may_be_slow()) sampler.deadline().set(started + share);
    try {
        const TokenId           token = sampler.sample(logits, n_vocab);
        std::optional<Logprobs> logprobs;
        if (n_top >= 0) logprobs = sampler.logprobs_of(logits, n_vocab, token, n_top);
        // accept() has no deadline, because an interrupted one would leave the constraint unusable. If it is slow, the
        // next tokens go to the slow sampler.
        sampler.deadline().clear();
        sampler.accept(token);
        const double took = Milliseconds(Clock::now() - started).count();
        if (sampler.may_be_slow()) sequence.sampling_pace.observe(took, sampling_share_ms_);
        outcome.sampled_tokens.push_back(accept(sequence, token, std::move(logprobs)));
        return true;
    } catch (const ConstraintTimeout&) {
        sequence.sampling_pace.observe(sampling_share_ms_, sampling_share_ms_);
        return false;
    }
}

Engine::SampledToken Engine::accept(Sequence& sequence, TokenId token, std::optional<Logprobs> logprobs) const {
    const bool is_end = tokenizer_.is_end_of_generation(token);
    return {token, sequence.accept(token, piece(sequence.job(), token), is_end, context_length_), std::move(logprobs)};
}

void Engine::take_outcome(const PlanRow& row, RowOutcome& outcome) {
    Sequence& sequence = *row.sequence;
    for (Logprobs& logprobs : outcome.prompt_tokens) {
        add_pieces(logprobs, true);
        outbox_.add_prompt_token(sequence.id(), std::move(logprobs));
    }
    for (size_t i = 0; i < outcome.sampled_tokens.size(); ++i) {
        emit(sequence, std::move(outcome.sampled_tokens[i]), i + 1 == outcome.sampled_tokens.size());
    }
    if (!row.draft.empty()) decoder_.trim(sequence.slot, sequence.position(sequence.n_computed));
    if (outcome.failure) {
        const bool cells_invalid = outcome.failure->code == ErrorCode::invalid_logits;
        if (cells_invalid) decoder_.drop(scheduler_.forget(sequence));
        return fail(&sequence, *std::move(outcome.failure), cells_invalid);
    }
    if (outcome.slow_sample) {
        outcome.slow_sample->sampler = std::move(sequence.sampler);
        slow_samples_.submit(std::move(outcome.slow_sample));
    }
    if (is_over(sequence.status)) end(&sequence);
}

void Engine::add_pieces(Logprobs& logprobs, bool with_names) const {
    const auto text_of = [&](TokenId token) {
        const std::string_view piece = tokenizer_.piece(token);
        return piece.empty() && with_names ? tokenizer_.spelled(token) : std::string(piece);
    };
    logprobs.chosen.bytes = text_of(logprobs.chosen.id);
    for (TokenLogprob& each : logprobs.top) each.bytes = text_of(each.id);
}

void Engine::emit(const Sequence& sequence, SampledToken sampled, bool is_last) {
    if (sampled.logprobs) add_pieces(*sampled.logprobs, false);
    std::optional<Finish> finish;
    if (is_last && is_over(sequence.status)) {
        finish = sequence.finish();
        ++counts_.jobs_finished;
        counts_.prompt_tokens += sequence.n_prompt();
        counts_.completion_tokens += sequence.n_sampled();
        counts_.drafted_tokens += sequence.n_drafted;
        counts_.accepted_tokens += sequence.n_accepted;
    }
    outbox_.add_token(sequence.id(), sampled.token, sampled.text, std::move(sampled.logprobs), std::move(finish));
}

}  // namespace chasqui
