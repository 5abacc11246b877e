#include "guesser.h"

#include <algorithm>

namespace chasqui {

namespace {

// The tokens whose repetition is taken as a sign that what followed will be repeated as well. A draft model knows better
// than a short repetition, but not than a quotation, which in turn is guessed for nothing.
constexpr size_t kLookupGram    = 3;
constexpr size_t kQuotationGram = 8;

}  // namespace

Guesser::Guesser(const DraftOptions& options, const Model& target, const Decoder& decoder,
                 const Model::Progress& progress)
    : n_min_(options.n_min), n_max_(decoder.cut_back() == CutBack::never ? 0 : options.n_max), context_length_(decoder.context_length()) {
    if (options.model_path.empty()) return;
    draft_model_ = std::make_unique<DraftModel>(options, kMostTexts, target, decoder, progress);
}

void Guesser::add_guesses(Plan& plan) {
    if (n_max_ == 0 || plan.rows.empty() || plan.rows.size() > kMostTexts) return;
    const auto decodes = [](const PlanRow& row) { return row.sequence->n_pending() == 1; };
    if (!std::all_of(plan.rows.begin(), plan.rows.end(), decodes)) return;

    std::vector<DraftModel::Text> texts;
    std::vector<PlanRow*>         asked;
    for (PlanRow& row : plan.rows) {
        const size_t room = context_length_ - row.sequence->tokens.size();
        look_up_guess(row, room);
        // A draft model has no eyes.
        if (!draft_model_ || !row.draft.empty() || row.sequence->media() != nullptr) continue;
        row.draft_length    = &row.sequence->model_guesses;
        const size_t wanted = row.draft_length->next();
        const size_t n_max  = std::min(wanted == 0 ? 0 : std::max(wanted, n_min_), room);
        if (n_max == 0) continue;
        texts.push_back({row.sequence->id(), &row.sequence->tokens, n_max});
        asked.push_back(&row);
    }
    if (!texts.empty()) {
        auto guesses = draft_model_->guess(texts);
        for (size_t i = 0; i < asked.size(); ++i) asked[i]->draft = std::move(guesses[i]);
    }
    for (PlanRow& row : plan.rows) row.sequence->n_drafted += row.draft.size();
}

void Guesser::look_up_guess(PlanRow& row, size_t room) const {
    row.draft_length   = &row.sequence->lookup_guesses;
    const size_t n_max = std::min(row.draft_length->next(), room);
    row.draft          = look_up(row.sequence->tokens, draft_model_ ? kQuotationGram : kLookupGram, n_max);
}

void Guesser::abort() {
    if (draft_model_) draft_model_->abort();
}

}  // namespace chasqui
