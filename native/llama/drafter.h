// Thread: engine, except abort() and the constructor.
#pragma once

#include "../core/draft-policy.h"
#include "draft-source.h"
#include "model.h"

#include <memory>
#include <optional>
#include <vector>

namespace chasqui {

// Speculative decoding: adds drafted tokens to the rows of a step, which checks them together with the row's own token.
// A draft comes from the text so far (prompt-lookup.h) or, if there is one, from a draft model or an MTP layer. A drafted
// token is accepted only if it is the one that the model itself chooses, so that drafts change the speed and never the
// text.
class Drafter {
public:
    // Throws as DraftModel and MtpHead do.
    Drafter(const DraftOptions& options, double target_step_ms, const Model& target, const Decoder& decoder,
            const Model::Progress& progress);

    // Rows of logits that drafts need at most.
    static size_t max_outputs(const DraftOptions& options);

    // Adds drafts to a plan in which every row decodes; leaves other plans as they are.
    void add_drafts(Plan& plan);
    // The plan of the last call has been computed; none of its tokens is sampled yet.
    void computed(const Plan& plan, double milliseconds);
    // Any thread.
    void abort();

private:
    bool   may_draft(const Plan& plan) const;
    size_t room_of(const PlanRow& row) const;
    void   add_lookups(Plan& plan);
    void   look_up(PlanRow& row);
    void   add_computed_drafts(Plan& plan);

    size_t                       n_min_, n_max_;
    size_t                       context_length_;
    DraftPolicy                  policy_;
    HitRates                     hit_rates_;  // of all sequences
    std::optional<StepShape>     shape_;      // of the step that is computed; nullopt: there could be no drafts in it
    std::unique_ptr<DraftSource> source_;     // nullptr: drafts come from the text alone
};

}  // namespace chasqui
