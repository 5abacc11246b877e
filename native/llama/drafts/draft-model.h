// Thread: engine, except abort() and the constructor.
#pragma once

#include "draft-source.h"
#include "../model/model.h"

#include <cstdint>
#include <memory>
#include <vector>

struct llama_batch;

namespace chasqui {

// A small model with the vocabulary of a large one. It has its own KV cells. They are computed when a sequence needs a
// draft, so sequences without drafts cost nothing, and reused while the slot's tokens match the sequence.
class DraftModel : public DraftSource {
public:
    // `n_slots`: maximum of inputs per call of draft(). Uses the threads of `decoder`, which must outlive it. Throws
    // the errors of Model and Decoder, and `invalid_options` if the model cannot draft for `target`.
    DraftModel(const DraftOptions& options, size_t n_slots, const Model& target, const Decoder& decoder,
               const Model::Progress& progress);
    ~DraftModel() override;

    // A draft is empty until all tokens of its input are computed, which may take several steps.
    std::vector<std::vector<TokenId>> draft(const std::vector<Input>& inputs) override;
    void computed(const std::vector<PlanRow>&) override {}

private:
    // A KV sequence, and the tokens that have cells.
    struct Slot {
        uint32_t             job_id = 0;
        std::vector<TokenId> tokens;
        bool                 taken = false;  // by an input of this call
    };

    void    choose_slots(const std::vector<Input>& inputs, std::vector<Draft>& drafts);
    size_t  choose_slot(const Input& input);
    bool    catch_up(const std::vector<TokenId>& tokens, Draft& draft);
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
