// Thread: engine, except abort() and the constructor.
#pragma once

#include "draft-model.h"

#include <memory>

namespace chasqui {

// Guesses how texts go on, for a step to check along with its tokens: by looking at the text so far (prompt-lookup.h) and,
// if there is one, by asking a draft model. A guess is taken only where it is what the model itself chooses, so that it
// changes nothing but the time that it takes.
class Guesser {
public:
    // Guessing pays while rows are cheap, that is while few of them share the step.
    static constexpr size_t kMostTexts = 2;

    // Throws as DraftModel does.
    Guesser(const DraftOptions& options, const Model& target, const Decoder& decoder, const Model::Progress& progress);

    // Adds guesses to the rows of a plan in which everybody decodes.
    void add_guesses(Plan& plan);
    // Any thread.
    void abort();

private:
    void look_up_guess(PlanRow& row, size_t room) const;

    size_t                      n_min_, n_max_;
    size_t                      context_length_;
    std::unique_ptr<DraftModel> draft_model_;
};

}  // namespace chasqui
