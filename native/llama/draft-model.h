// Thread: engine, except abort() and the constructor.
#pragma once

#include "decoder.h"
#include "model.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

struct DraftOptions {
    std::string model_path;    // empty: drafts come from the text alone (prompt-lookup.h)
    size_t      n_max = 0;     // tokens to draft at a time; 0: none
    // The draft model's drafts that are shorter than this are dropped; from the text so many are drafted in any case.
    size_t      n_min = 0;
    float       p_min = 0.0f;  // the draft model stops at a token that is less probable than this
    bool        on_gpus = true;  // false: no drafts where a GPU is used
    ContextSettings context;   // of the draft model; RoPE is as its own file says
};

// A small model with the vocabulary of a large one; it drafts how sequences go on. It has KV cells of its own. They are
// computed when a sequence needs a draft, so that a sequence without drafts costs nothing, and reused as far as what
// the slot holds agrees with the sequence.
class DraftModel {
public:
    struct Input {
        uint32_t                    job_id;
        const std::vector<TokenId>* tokens;  // never empty
        size_t                      n_max;   // tokens to draft, at least 1
    };

    // `n_slots`: the most inputs that one call of draft() may have. Shares the compute threads of `decoder`, which must
    // outlive it. Throws as Model and Decoder do, and `invalid_options` when the model cannot draft for `target`.
    DraftModel(const DraftOptions& options, size_t n_slots, const Model& target, const Decoder& decoder,
               const Model::Progress& progress);
    ~DraftModel();

    // Returns the most probable continuation of each input, at most `n_max` tokens. It is empty while so much of the
    // input is left to compute that it takes more than this step.
    std::vector<std::vector<TokenId>> draft(const std::vector<Input>& inputs);
    // Any thread: makes a running draft() return early where the backend can.
    void abort() { aborted_.store(true, std::memory_order_relaxed); }

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
    struct FreeContext {
        void operator()(llama_context* context) const;
    };

    void    create_context(size_t n_slots, const Decoder& decoder);
    void    choose_slots(const std::vector<Input>& inputs, std::vector<Draft>& drafts);
    size_t  choose_slot(const Input& input);
    bool    catch_up(const std::vector<TokenId>& tokens, Draft& draft);
    bool    take_next(Draft& draft) const;
    int32_t add_token(size_t slot, TokenId token, bool output);
    bool    compute();
    void    clear();

    DraftOptions                                options_;
    Model                                       model_;
    std::atomic<bool>                           aborted_{false};
    std::unique_ptr<llama_context, FreeContext> context_;
    std::unique_ptr<llama_batch>                batch_;
    std::vector<Slot>                           slots_;
    int32_t                                     n_vocab_ = 0;  // tokens that both models have
};

}  // namespace chasqui
