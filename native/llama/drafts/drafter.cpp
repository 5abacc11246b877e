#include "drafter.h"

#include "draft-model.h"
#include "mtp-head.h"

#include <algorithm>

namespace chasqui {

namespace {

// With a draft model or MTP layer, lookup is used only for matches this long: these are quotations, which lookup
// predicts as well and for free.
constexpr size_t kQuotation = 8;
// Bytes of text that a grammar is asked for.
constexpr size_t kMaxLikelyText = 96;
// Weight of the newest outcome in the common rates of all sequences.
constexpr double kNewestWeight = 0.02;

// The shape of the step, to learn its cost; nullopt: its drafts differ in length.
std::optional<StepShape> shape_of(const Plan& plan) {
    StepShape shape{plan.rows.size(), 0, 0};
    for (const PlanRow& row : plan.rows) {
        if (row.draft.empty()) continue;
        if (shape.n_drafting > 0 && row.draft.size() != shape.length) return std::nullopt;
        shape.length = row.draft.size();
        ++shape.n_drafting;
    }
    return shape;
}

}  // namespace

Drafter::Drafter(const DraftOptions& options, double target_step_ms, const Model& target, const Tokenizer& tokenizer,
                 const Decoder& decoder, const Model::Progress& progress)
    : n_min_(options.n_min),
      n_max_(std::min(options.n_max, decoder.n_rollback())),
      context_length_(decoder.context_length()),
      tokenizer_(tokenizer),
      policy_(n_max_, target_step_ms, options.computes() ? 0 : options.n_min),
      hit_rates_(kNewestWeight) {
    if (options.mtp) {
        source_ = std::make_unique<MtpHead>(options, target, decoder);
    } else if (options.computes()) {
        source_ = std::make_unique<DraftModel>(options, kMaxDraftedSequences, target, decoder, progress);
    }
}

size_t Drafter::max_outputs(const DraftOptions& options) {
    return options.computes() ? kMaxDraftedSequences * options.n_max : std::min(options.n_max, StepCosts::kMaxLength);
}

void Drafter::add_drafts(Plan& plan) {
    shape_.reset();
    if (n_max_ == 0) return;
    if (!may_draft(plan)) return policy_.computed_other_step();
    add_text_drafts(plan);
    if (source_) add_computed_drafts(plan);
    for (PlanRow& row : plan.rows) row.sequence->n_drafted += row.draft.size();
    shape_ = shape_of(plan);
    if (!shape_) policy_.computed_other_step();
}

bool Drafter::may_draft(const Plan& plan) const {
    const auto decodes = [](const PlanRow& row) {
        return row.sequence->n_pending() == 1 && row.sequence->next_chunk() == nullptr;
    };
    return !plan.rows.empty() && plan.rows.size() <= kMaxDraftedSequences &&
           std::all_of(plan.rows.begin(), plan.rows.end(), decodes);
}

// Maximum length of a draft: the context and the completion must also hold the token that the step samples.
size_t Drafter::max_draft_length(const PlanRow& row) const {
    const Sequence& sequence   = *row.sequence;
    const size_t    of_context = context_length_ - sequence.tokens.size();
    if (sequence.job().max_tokens < 0) return of_context;
    return std::min(of_context, static_cast<size_t>(sequence.job().max_tokens) - sequence.n_sampled() - 1);
}

void Drafter::add_text_drafts(Plan& plan) {
    std::vector<DraftPolicy::Candidate> candidates;
    for (PlanRow& row : plan.rows) {
        Sequence& sequence = *row.sequence;
        candidates.push_back({&sequence.draft_ledger, sequence.n_accepted, draft_from_text(row)});
    }
    const std::vector<size_t> lengths = policy_.choose(candidates);
    for (size_t i = 0; i < lengths.size(); ++i) plan.rows[i].draft.resize(lengths[i]);
}

std::vector<double> Drafter::draft_from_text(PlanRow& row) {
    Sequence& sequence = *row.sequence;
    if (!sequence.job().drafts_from_text) return {};
    const size_t n_max = std::min(policy_.n_max(), max_draft_length(row));
    sequence.lookup.catch_up(sequence.tokens, sequence.n_prompt(), hit_rates_);
    if (!source_ || sequence.lookup.match_length() >= kQuotation) {
        row.draft = sequence.lookup.propose(sequence.tokens, n_max);
    }
    const std::vector<double> by_lookup = sequence.lookup.expected_hits(row.draft.size());
    follow_grammar(sequence);
    const std::vector<double> by_grammar = sequence.grammar_draft.expected_hits(n_max);
    if (by_grammar.empty() || (!by_lookup.empty() && by_lookup.back() >= by_grammar.back())) return by_lookup;
    row.draft = sequence.grammar_draft.proposal();
    row.draft.resize(by_grammar.size());
    return by_grammar;
}

void Drafter::follow_grammar(Sequence& sequence) const {
    sequence.grammar_draft.catch_up(sequence.tokens);
    if (sequence.sampling_pace.is_slow()) return;
    const std::string text = sequence.sampler->likely_text(kMaxLikelyText);
    if (text.empty()) return;
    const std::string_view before = tokenizer_.piece(sequence.tokens.back());
    sequence.grammar_draft.propose(tokenizer_.continuation(before, text), sequence.tokens.size());
}

void Drafter::add_computed_drafts(Plan& plan) {
    std::vector<DraftSource::Input> inputs;
    std::vector<PlanRow*>           input_rows;
    for (PlanRow& row : plan.rows) {
        // A draft model has no vision encoder, and an MTP layer no hidden rows of images.
        if (!row.draft.empty() || row.sequence->media() != nullptr) continue;
        row.draft_length    = &row.sequence->model_draft_length;
        const size_t wanted = row.draft_length->next();
        const size_t n_max  = std::min(wanted == 0 ? 0 : std::max(wanted, n_min_), max_draft_length(row));
        if (n_max == 0) continue;
        inputs.push_back({row.sequence, n_max});
        input_rows.push_back(&row);
    }
    if (inputs.empty()) return;
    auto drafts = source_->draft(inputs);
    for (size_t i = 0; i < input_rows.size(); ++i) input_rows[i]->draft = std::move(drafts[i]);
}

void Drafter::computed(const Plan& plan, double milliseconds) {
    if (source_) source_->computed(plan.rows);
    if (shape_) policy_.computed(*shape_, milliseconds);
}

void Drafter::abort() {
    if (source_) source_->abort();
}

}  // namespace chasqui
