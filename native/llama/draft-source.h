// Thread: engine, except abort() and constructors.
#pragma once

#include "../core/scheduler.h"
#include "context-settings.h"
#include "decoder.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct llama_context;
struct llama_context_params;

namespace chasqui {

struct DraftOptions {
    std::string model_path;    // of a draft model; empty: none
    bool        mtp   = false; // the model's own MTP layers draft
    size_t      n_max = 0;     // tokens to draft at a time; 0: none
    // Drafts of a draft model or of MTP layers that are shorter than this are dropped; from the text so many are drafted
    // in any case.
    size_t      n_min = 0;
    float       p_min = 0.0f;  // they stop at a token that is less probable than this
    bool        on_gpus = true;  // false: no drafts where a GPU is used
    ContextSettings context;   // of the draft model or of the MTP layers

    // Whether something computes drafts. Without it they come from the text alone (prompt-lookup.h).
    bool computes() const { return mtp || !model_path.empty(); }
};

// What computes drafts of how sequences go on: a draft model, or the MTP layers of the model itself.
class DraftSource {
public:
    struct Input {
        const Sequence* sequence;  // decodes in the next step
        size_t          n_max;     // tokens to draft, at least 1
    };

    virtual ~DraftSource() = default;

    // Returns the most probable continuation of each input, at most `n_max` tokens; empty where there is none yet.
    virtual std::vector<std::vector<TokenId>> draft(const std::vector<Input>& inputs) = 0;
    // The decoder has computed these rows of a plan; none of their tokens is sampled yet.
    virtual void computed(const std::vector<PlanRow>& rows) = 0;
    // Any thread: makes a running draft() return early where the backend can.
    void abort() { aborted_.store(true, std::memory_order_relaxed); }

protected:
    struct FreeContext {
        void operator()(llama_context* context) const;
    };
    using Context = std::unique_ptr<llama_context, FreeContext>;

    // Throws `invalid_options`. `what`: drafts, in a message.
    DraftSource(const DraftOptions& options, const char* what);

    // A context on the decoder's threads, which abort() ends early. Throws `invalid_options` or `out_of_memory`.
    Context create_context(llama_model* model, llama_context_params params, const Decoder& decoder, const char* what);
    // The most probable token, unless it is so improbable that the draft ends before it.
    std::optional<TokenId> next_token(const float* logits, int32_t n_vocab) const;

    const DraftOptions options_;

private:
    std::atomic<bool> aborted_{false};
};

}  // namespace chasqui
