#include "hidden-rows.h"

#include <llama.h>

#include <../src/llama-ext.h>

namespace chasqui {

HiddenRows::HiddenRows(llama_context* context) : context_(context) { llama_set_embeddings_nextn(context_, true, true); }

void HiddenRows::before(const std::vector<PlanRow>& rows) {
    rows_.clear();
    are_all_ = rows.size() == 1 && rows[0].n_tokens > 1 && rows[0].sequence->next_chunk() == nullptr;
    llama_set_embeddings_nextn(context_, true, !are_all_);
}

void HiddenRows::look_up(const std::vector<PlanRow>& rows) {
    int32_t in_batch = 0;
    for (const PlanRow& row : rows) {
        const Sequence& sequence    = *row.sequence;
        const bool      has_logits  = row.n_tokens == sequence.n_pending() && sequence.next_chunk() == nullptr;
        const size_t    n_tokens    = row.n_tokens + row.draft.size();
        const size_t    first_found = are_all_ ? 0 : has_logits ? row.n_tokens - 1 : n_tokens;
        std::vector<const float*>& found = rows_.emplace_back(n_tokens, nullptr);
        for (size_t i = first_found; i < n_tokens; ++i) {
            found[i] = llama_get_embeddings_nextn_ith(context_, in_batch + static_cast<int32_t>(i));
        }
        in_batch += static_cast<int32_t>(n_tokens);
    }
}

const float* HiddenRows::at(size_t plan_row, size_t index) const {
    return plan_row < rows_.size() && index < rows_[plan_row].size() ? rows_[plan_row][index] : nullptr;
}

}  // namespace chasqui
