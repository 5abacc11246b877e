#include "drafter.h"

#include <algorithm>

namespace chasqui {

namespace {

// If the last n tokens occur earlier in the text, what followed them there is drafted. Without a draft model a short
// match is enough. With one only a long match is used: that is a quotation, which the lookup predicts as well and for
// free.
constexpr size_t kLookupGram    = 3;
constexpr size_t kQuotationGram = 8;

}  // namespace

Drafter::Drafter(const DraftOptions& options, const Model& target, const Decoder& decoder,
                 const Model::Progress& progress)
    : n_min_(options.n_min),
      n_max_(decoder.truncation() == Truncation::never ? 0 : options.n_max),
      context_length_(decoder.context_length()) {
    if (options.model_path.empty()) return;
    draft_model_ = std::make_unique<DraftModel>(options, kMaxDraftedSequences, target, decoder, progress);
}

void Drafter::add_drafts(Plan& plan) {
    if (n_max_ == 0 || plan.rows.empty() || plan.rows.size() > kMaxDraftedSequences) return;
    const auto decodes = [](const PlanRow& row) { return row.sequence->n_pending() == 1; };
    if (!std::all_of(plan.rows.begin(), plan.rows.end(), decodes)) return;

    std::vector<DraftModel::Input> inputs;
    std::vector<PlanRow*>          input_rows;
    for (PlanRow& row : plan.rows) {
        const size_t room = context_length_ - row.sequence->tokens.size();
        add_ngram_draft(row, room);
        // The draft model has no vision encoder, so sequences with images are skipped.
        if (!draft_model_ || !row.draft.empty() || row.sequence->media() != nullptr) continue;
        row.draft_length    = &row.sequence->model_draft_length;
        const size_t wanted = row.draft_length->next();
        const size_t n_max  = std::min(wanted == 0 ? 0 : std::max(wanted, n_min_), room);
        if (n_max == 0) continue;
        inputs.push_back({row.sequence->id(), &row.sequence->tokens, n_max});
        input_rows.push_back(&row);
    }
    if (!inputs.empty()) {
        auto drafts = draft_model_->draft(inputs);
        for (size_t i = 0; i < input_rows.size(); ++i) input_rows[i]->draft = std::move(drafts[i]);
    }
    for (PlanRow& row : plan.rows) row.sequence->n_drafted += row.draft.size();
}

void Drafter::add_ngram_draft(PlanRow& row, size_t room) const {
    row.draft_length   = &row.sequence->lookup_draft_length;
    const size_t n_max = std::min(row.draft_length->next(), room);
    row.draft          = propose_ngram(row.sequence->tokens, draft_model_ ? kQuotationGram : kLookupGram, n_max);
}

void Drafter::abort() {
    if (draft_model_) draft_model_->abort();
}

}  // namespace chasqui
