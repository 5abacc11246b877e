// Thread: engine, except abort() and the constructor.
#pragma once

#include "../../core/draft-policy.h"
#include "draft-source.h"
#include "../model/model.h"
#include "../model/tokenizer.h"

#include <memory>
#include <optional>
#include <vector>

namespace chasqui {

// Speculative decoding: adds drafted tokens to the rows of a step, which verifies them together with the row's own
// token. Drafts come from the text (prompt-lookup.h), its grammar (grammar-draft.h), a draft model or an MTP layer. A
// drafted token is accepted only if the model itself chooses it, so drafts change the speed and never the text.
class Drafter {
public:
    // Throws the errors of DraftModel and MtpHead.
    Drafter(const DraftOptions& options, double target_step_ms, const Model& target, const Tokenizer& tokenizer,
            const Decoder& decoder, const Model::Progress& progress);

    // Maximum rows of logits for drafts.
    static size_t max_outputs(const DraftOptions& options);

    // Adds drafts to the plan if all its rows decode.
    void add_drafts(Plan& plan);
    // The plan of the last add_drafts() has been computed; none of its tokens is sampled yet.
    void computed(const Plan& plan, double milliseconds);
    // Any thread.
    void abort();

private:
    bool   may_draft(const Plan& plan) const;
    size_t max_draft_length(const PlanRow& row) const;
    void   add_text_drafts(Plan& plan);
    void   follow_grammar(Sequence& sequence) const;
    // Returns the expected hits of the row's draft.
    std::vector<double> draft_from_text(PlanRow& row);
    void   add_computed_drafts(Plan& plan);

    size_t                       n_min_, n_max_;
    size_t                       context_length_;
    const Tokenizer&             tokenizer_;
    DraftPolicy                  policy_;
    HitRates                     hit_rates_;  // of all sequences
    std::optional<StepShape>     shape_;      // of the current step; nullopt: it could not have drafts
    std::unique_ptr<DraftSource> source_;     // nullptr: drafts from the text only
};

}  // namespace chasqui
