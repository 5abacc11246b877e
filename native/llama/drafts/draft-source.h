// Thread: engine, except abort() and constructors.
#pragma once

#include "../../core/scheduler.h"
#include "../decoding/context-settings.h"
#include "../decoding/decoder.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct llama_context;
struct llama_context_params;

namespace chasqui {

struct DraftOptions {
    std::string model_path;     // draft model; empty: none
    bool        mtp   = false;  // draft with the model's own MTP layer
    size_t      n_max = 0;      // maximum length of a draft; 0: no drafts
    // Shorter drafts of a draft model or MTP layer are dropped. Prompt lookup always drafts this many tokens.
    size_t      n_min = 0;
    float           p_min   = 0.0f;  // a draft ends before a token with a lower probability
    bool            on_gpus = true;  // false: no drafts if a GPU is used
    ContextSettings context;         // of the draft model or MTP layer

    // Whether drafts are computed. Otherwise they come from the text only (prompt-lookup.h).
    bool computes() const { return mtp || !model_path.empty(); }

    // As in RopeSettings.
    template <typename Read>
    void read(const Read& read) {
        std::string type;
        read("specType", type);
        mtp = type == "draft-mtp";
        read("draftModel", model_path);
        read("draftMax", n_max);
        read("draftMin", n_min);
        read("draftPMin", p_min);
        read("draftsOnGpus", on_gpus);
        read("draftCacheTypeK", context.keys);
        read("draftCacheTypeV", context.values);
        read("flashAttention", context.flash_attention);
        read("kvOffload", context.kv_offload);
        read("opOffload", context.op_offload);
    }
};

// A draft model, or an MTP layer of the model itself.
class DraftSource {
public:
    struct Input {
        const Sequence* sequence;  // decodes in the next step
        size_t          n_max;     // maximum length of the draft, at least 1
    };

    virtual ~DraftSource() = default;

    // Returns the most probable continuation of each input, up to `n_max` tokens; empty if not ready.
    virtual std::vector<std::vector<TokenId>> draft(const std::vector<Input>& inputs) = 0;
    // The decoder has computed these rows of a plan; none of their tokens is sampled yet.
    virtual void computed(const std::vector<PlanRow>& rows) = 0;
    // Any thread: makes a running draft() return early if the backend supports it.
    void abort() { aborted_.store(true, std::memory_order_relaxed); }

protected:
    struct FreeContext {
        void operator()(llama_context* context) const;
    };
    using Context = std::unique_ptr<llama_context, FreeContext>;

    // A draft in progress. `position`: of the next input of an MTP layer.
    struct Draft {
        size_t               slot = 0, position = 0, n_max = 0;
        std::vector<TokenId> tokens;
        int32_t              row = -1;  // index in the batch of the logits for the next token
    };

    // Throws `invalid_options`. `what`: name of the source, for messages.
    DraftSource(const DraftOptions& options, const char* what);

    // Creates a context on the decoder's threads, which abort() interrupts. Throws `invalid_options`,
    // `out_of_memory` or `model_load_failed`.
    Context create_context(llama_model* model, llama_context_params params, const Decoder& decoder, const char* what);
    // Appends the most probable next token. False if the draft ends there.
    bool take_next(Draft& draft, llama_context* context, const Model& model, int32_t n_vocab) const;
    // The tokens of all drafts; empty for those shorter than `n_min`.
    std::vector<std::vector<TokenId>> take_tokens(std::vector<Draft>& drafts) const;

    const DraftOptions options_;

private:
    std::atomic<bool> aborted_{false};
};

}  // namespace chasqui
