// Thread: engine.
#pragma once

#include "../../core/scheduler.h"

#include <cstddef>
#include <vector>

struct llama_context;

namespace chasqui {

// The outputs of a model's last layer for the tokens of a step, as input of an MTP head.
//
// llama.cpp returns either the rows of all tokens, or those of tokens with logits, which cost next to nothing. The rows
// of all tokens are in order of computation, which is the order of the batch only for a single sequence. So all rows
// are available for a prompt that is computed alone; other steps only have rows with logits.
class HiddenRows {
public:
    // `context`: of a model with MTP layers; must outlive this object.
    explicit HiddenRows(llama_context* context);

    // To be called before these rows of a plan are computed ...
    void before(const std::vector<PlanRow>& rows);
    // ... and after.
    void look_up(const std::vector<PlanRow>& rows);

    // The hidden row of token `index` of a plan row, including its draft; nullptr if there is none. Valid until the
    // next before().
    const float* at(size_t plan_row, size_t index) const;

private:
    llama_context*                         context_;
    bool                                   are_all_ = false;
    std::vector<std::vector<const float*>> rows_;  // by plan row
};

}  // namespace chasqui
