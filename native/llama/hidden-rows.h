// Thread: engine.
#pragma once

#include "../core/scheduler.h"

#include <cstddef>
#include <vector>

struct llama_context;

namespace chasqui {

// What the last layer of a model computed for the tokens of a step, a row of numbers for each: what MTP heads go on from.
//
// llama.cpp puts out either the rows of all tokens, or those of the tokens that have logits, which cost next to nothing.
// The rows of all are in the order in which it has computed them, which is that of the batch only while there is one
// sequence in it. So a prompt that is computed alone has all of its rows, and other steps have those with logits.
class HiddenRows {
public:
    // The context is that of a model with MTP layers. It must outlive this.
    explicit HiddenRows(llama_context* context);

    // These rows of a plan will be computed next.
    void before(const std::vector<PlanRow>& rows);
    // They have been.
    void look_up(const std::vector<PlanRow>& rows);

    // The row of the plan row's token `index`, counted from its first one on, the tokens of its draft included; nullptr
    // where there is none. Valid until the next call of before().
    const float* at(size_t plan_row, size_t index) const;

private:
    llama_context*                         context_;
    bool                                   are_all_ = false;
    std::vector<std::vector<const float*>> rows_;  // by plan row
};

}  // namespace chasqui
