// Thread: engine, except abort() and the constructor.
#pragma once

#include "draft-source.h"
#include "../model/model.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct llama_model;

namespace chasqui {

// The layer for multi-token prediction (MTP) that some models have after the others. The input at position p is the
// token at p and the hidden row (hidden-rows.h) that the model computed for the token before it. The output predicts
// the token at p + 1. To draft further tokens, the layer's own output row replaces the missing row of the model.
//
//   position      0      1      2      3      4      5
//   token         a      b      c      d      e      ?      e was sampled last: the model has no row for it yet
//   row           h0     h1     h2     h3     -
//   input         -      b,h0   c,h1   d,h2   e,h3          the input at 4 predicts the token at 5
//
// A slot whose inputs before position 3 have been read has
//
//   next_input = 3       the input d,h2
//   rows = { h2, h3 }    rows[i] belongs to position next_input - 1 + i
//   rows_end() = 4       the first position without a row; inputs up to and including this one can be read
//
// The layer has its own KV cells, in its own context on the model's weights. Rows are missing if cells came from the
// prefix cache, or if many sequences were computed at once. Then the slot restarts with the next rows. It looks back
// less far and drafts worse, but the model checks every draft.
class MtpHead : public DraftSource {
public:
    // The decoder must output hidden rows. Throws `invalid_options` if the model has no MTP layer that llama.cpp
    // supports, and the errors of Decoder. The model and the decoder must outlive it.
    MtpHead(const DraftOptions& options, const Model& model, const Decoder& decoder);

    std::vector<std::vector<TokenId>> draft(const std::vector<Input>& inputs) override;
    // Stores the hidden rows, and reads inputs once there are many.
    void computed(const std::vector<PlanRow>& rows) override;

    static constexpr size_t kMaxLength = 32;  // of a draft, in tokens

private:
    // Per slot of the decoder.
    struct Slot {
        uint32_t             job_id = 0;
        AdapterSet           adapters;
        std::vector<TokenId> tokens;          // of the sequence and its draft, at all positions with rows
        size_t               next_input = 1;  // position; the inputs before it have cells, except after a restart
        std::vector<float>   rows;            // from position next_input - 1
    };

    void   store_rows(const PlanRow& row, size_t plan_row);
    void   store_tokens(Slot& slot, const PlanRow& row);
    bool   continues(const Slot& slot, const Sequence& sequence, size_t first) const;
    void   restart(size_t slot, size_t first);
    size_t rows_end(const Slot& slot) const { return slot.next_input - 1 + slot.rows.size() / n_embd_; }
    bool   may_draft(const Sequence& sequence) const;
    void   read_inputs(size_t slot, const std::vector<TokenId>& tokens, size_t n_inputs, bool output);
    void   add_input(size_t slot, size_t position, TokenId token, const float* row, bool output);
    void   trim(size_t slot, size_t position);
    bool   compute();
    void   clear();

    const Model&         model_;
    const HiddenRows&    hidden_rows_;
    const size_t         n_embd_;
    Context              context_;
    std::vector<Slot>    slots_;
    // The batch: llama_batch_init() allocates either tokens or rows, and this needs both.
    std::vector<TokenId> tokens_;
    std::vector<float>   rows_;
    std::vector<int32_t> positions_, n_slots_, slot_ids_;
    std::vector<int8_t>  outputs_;
};

// Why the model cannot draft with an MTP layer; empty if it can. Does not check that the file has the weights.
std::string mtp_obstacle(const llama_model* model);

}  // namespace chasqui
