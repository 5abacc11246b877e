// Thread: engine, except abort() and the constructor.
#pragma once

#include "draft-source.h"
#include "model.h"

#include <cstdint>
#include <memory>
#include <vector>

struct llama_batch;

namespace chasqui {

// A small model with the vocabulary of a large one; it drafts how sequences go on. It has KV cells of its own. They are
// computed when a sequence needs a draft, so that a sequence without drafts costs nothing, and reused as far as what
// the slot holds agrees with the sequence.
class DraftModel : public DraftSource {
public:
    // `n_slots`: the most inputs that one call of draft() may have. Shares the compute threads of `decoder`, which must
    // outlive it. Throws as Model and Decoder do, and `invalid_options` when the model cannot draft for `target`.
    DraftModel(const DraftOptions& options, size_t n_slots, const Model& target, const Decoder& decoder,
               const Model::Progress& progress);
    ~DraftModel() override;

    // A draft is empty while so much of its input is left to compute that it takes more than this step.
    std::vector<std::vector<TokenId>> draft(const std::vector<Input>& inputs) override;
    void computed(const std::vector<PlanRow>&) override {}

private:
    // A KV sequence, and the tokens that have cells in it.
    struct Slot {
        uint32_t             job_id = 0;
        std::vector<TokenId> tokens;
        bool                 taken = false;  // by an input of this call
    };
    struct Draft {
        size_t               slot  = 0;
        size_t               n_max = 0;
        std::vector<TokenId> tokens;
        int32_t              row = -1;  // of the batch: has the logits for the next token
    };

    void    choose_slots(const std::vector<Input>& inputs, std::vector<Draft>& drafts);
    size_t  choose_slot(const Input& input);
    bool    catch_up(const std::vector<TokenId>& tokens, Draft& draft);
    bool    take_next(Draft& draft) const;
    int32_t add_token(size_t slot, TokenId token, bool output);
    bool    compute();
    void    clear();

    Model                        model_;
    Context                      context_;
    std::unique_ptr<llama_batch> batch_;
    std::vector<Slot>            slots_;
    int32_t                      n_vocab_ = 0;  // tokens that both models have
};

}  // namespace chasqui
