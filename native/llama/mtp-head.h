// Thread: engine, except abort() and the constructor.
#pragma once

#include "draft-source.h"
#include "model.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct llama_model;

namespace chasqui {

// The layer for multi-token prediction that some models have behind the others: from what the last of these has computed
// for a token (hidden-rows.h), and from the token that followed, it predicts the token after that. Its own row then stands
// in for the model's, and so it goes on, token by token.
//
//   position    │  0    1    2    3  │  4    5         the last sampled token is at 4: it has no row yet
//   token       │  a    b    c    d  │  e    .
//   row         │  h0   h1   h2   h3 │
//   its inputs  │      b h0 c h1 d h2│ e h3             the last predicts the token at 5
//
// It has KV cells of its own, in a context of its own on the model's weights. Where a row is missing, because cells came
// from the prefix cache or many sequences were computed at a time, the slot begins anew with the rows that come next:
// nothing is made up. Then it looks back less far and drafts worse, but the model checks every draft.
class MtpHead : public DraftSource {
public:
    // The decoder puts out hidden rows. Throws `invalid_options` when the model has no such layer, or none that llama.cpp
    // computes, and else as Decoder does. The model and the decoder must outlive it.
    MtpHead(const DraftOptions& options, const Model& model, const Decoder& decoder);

    std::vector<std::vector<TokenId>> draft(const std::vector<Input>& inputs) override;
    // Takes the rows over, and computes what the head can read by now if that is much.
    void computed(const std::vector<PlanRow>& rows) override;

    // Tokens that it can draft at a time.
    static constexpr size_t kMaxLength = 32;

private:
    // Of a slot of the decoder. The input at `n_read` is the next to be read: the token there, and the row before it.
    struct Slot {
        uint32_t             job_id = 0;
        AdapterSet           adapters;
        std::vector<TokenId> tokens;      // of the sequence, drafted ones included, as far as there are rows
        size_t               n_read = 1;  // inputs before it have cells, from any of them on
        std::vector<float>   rows;        // from the one before `n_read` on
    };
    struct Draft {
        size_t               slot = 0, position = 0, n_max = 0;  // position: of the next input
        std::vector<TokenId> tokens;
        int32_t              row = -1;  // of the batch: has the logits for the next token
    };

    void   take_rows(const PlanRow& row, size_t plan_row);
    void   take_tokens(Slot& slot, const PlanRow& row);
    bool   goes_on(const Slot& slot, const Sequence& sequence, size_t first) const;
    void   begin_anew(size_t slot, size_t first);
    size_t end_of_rows(const Slot& slot) const { return slot.n_read - 1 + slot.rows.size() / n_embd_; }
    bool   may_draft(const Sequence& sequence) const;
    void   read_inputs(size_t slot, const std::vector<TokenId>& tokens, size_t n_inputs, bool output);
    bool   take_next(Draft& draft) const;
    void   add_input(size_t slot, size_t position, TokenId token, const float* row, bool output);
    void   trim(size_t slot, size_t position);
    bool   compute();
    void   clear();

    const Model&         model_;
    const HiddenRows&    hidden_rows_;
    const size_t         n_embd_;
    Context              context_;
    std::vector<Slot>    slots_;
    // The batch. llama.cpp's own has either tokens or rows.
    std::vector<TokenId> tokens_;
    std::vector<float>   rows_;
    std::vector<int32_t> positions_, n_slots_, slot_ids_;
    std::vector<int8_t>  outputs_;
};

// Why the model cannot draft by MTP layers; empty if it can. Whether its file has their weights is not looked at.
std::string why_no_mtp(const llama_model* model);

}  // namespace chasqui
