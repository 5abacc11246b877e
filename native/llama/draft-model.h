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
    std::string model_path;   // empty: guesses come from the text alone
    size_t      n_max = 0;    // tokens to guess at a time; 0: none
    size_t      n_min = 0;    // guesses of the model that are shorter than this are not worth checking
    float       p_min = 0.0f; // the model stops guessing at a token that it holds less probable than this
};

// A small model with the vocabulary of a large one, which guesses how its texts go on. Its own KV cells follow the texts
// that it is asked about: whatever two texts have in common is computed once, and the rest when it is needed, so that
// texts that nobody guesses about cost nothing.
class DraftModel {
public:
    struct Text {
        uint32_t                    job_id;
        const std::vector<TokenId>* tokens;  // never empty
        size_t                      n_max;   // tokens to guess, at least 1
    };

    // `n_texts`: that can be asked about at a time. Shares the compute threads of `decoder`, which must outlive it. Throws
    // as Model and Decoder do, and `invalid_options` when the model cannot guess for `target`.
    DraftModel(const DraftOptions& options, size_t n_texts, const Model& target, const Decoder& decoder,
               const Model::Progress& progress);
    ~DraftModel();

    // What the model would say next, greedily: for each text at most `n_max` tokens, none while there is still much of it
    // to compute.
    std::vector<std::vector<TokenId>> guess(const std::vector<Text>& texts);
    // Any thread: makes a running guess() return early where the backend can.
    void abort() { aborted_.store(true, std::memory_order_relaxed); }

private:
    // A KV sequence, and the tokens that have cells in it.
    struct Lane {
        uint32_t             job_id = 0;
        std::vector<TokenId> tokens;
        bool                 taken  = false;  // by a text of this call
    };
    struct Guess {
        size_t               lane  = 0;
        size_t               n_max = 0;
        std::vector<TokenId> tokens;
        int32_t              row   = -1;  // of the batch: has the logits for the next token
    };
    struct FreeContext {
        void operator()(llama_context* context) const;
    };

    void    create_context(size_t n_texts, const Decoder& decoder);
    void    choose_lanes(const std::vector<Text>& texts, std::vector<Guess>& guesses);
    size_t  choose_lane(const Text& text);
    bool    catch_up(const std::vector<TokenId>& tokens, Guess& guess);
    bool    take_next(Guess& guess) const;
    int32_t add_token(size_t lane, TokenId token, bool output);
    bool    compute();
    void    forget();

    DraftOptions                                options_;
    Model                                       model_;
    std::atomic<bool>                           aborted_{false};
    std::unique_ptr<llama_context, FreeContext> context_;
    std::unique_ptr<llama_batch>                batch_;
    std::vector<Lane>                           lanes_;
    int32_t                                     n_vocab_ = 0;  // tokens that both models have
};

}  // namespace chasqui
