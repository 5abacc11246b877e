// Thread: engine, except abort() and the constructor.
#pragma once

#include "draft-model.h"

#include <memory>

namespace chasqui {

// Speculative decoding: adds drafted tokens to the rows of a step, which checks them together with the row's own token.
// A draft comes from the text so far (prompt-lookup.h) or, if there is one, from a draft model. A drafted token is
// accepted only if it is the one that the model itself chooses, so that drafts change the speed and never the text.
class Drafter {
public:
    // Drafts pay off while a row costs little, which is while few rows share the step.
    static constexpr size_t kMaxDraftedSequences = 2;

    // Throws as DraftModel does.
    Drafter(const DraftOptions& options, const Model& target, const Decoder& decoder, const Model::Progress& progress);

    // Adds drafts to a plan in which every row decodes; leaves other plans as they are.
    void add_drafts(Plan& plan);
    // Any thread.
    void abort();

private:
    void add_ngram_draft(PlanRow& row, size_t room) const;

    size_t                      n_min_, n_max_;
    size_t                      context_length_;
    std::unique_ptr<DraftModel> draft_model_;
};

}  // namespace chasqui
