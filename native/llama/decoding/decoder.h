// Thread: engine, except abort(), logits() and the constructor. llama.cpp is stricter than its header says: functions
// that read outputs (llama_get_logits_ith and others) first sort the rows without a lock. So only the engine thread
// calls llama.cpp with the context, and logits() returns pointers that decode() has taken.
#pragma once

#include "../../core/scheduler.h"
#include "../../core/snapshot-buffer.h"
#include "../model/adapters.h"
#include "context-settings.h"
#include "../drafts/hidden-rows.h"
#include "../model/model.h"
#include "threadpool.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

struct llama_context;
struct llama_batch;

namespace chasqui {

struct DecoderOptions {
    uint32_t context_length  = 0;  // of one sequence, in tokens; 0: the trained length, at most 4096
    uint32_t n_slots         = 4;  // concurrent KV sequences
    uint32_t n_batch         = 2048;
    uint32_t n_ubatch        = 512;
    int32_t  threads         = 0;  // 0: one per physical core, or fewer for models so small that fewer are faster
    int32_t  threads_batch   = 0;  // for steps of many tokens; 0: as many as `threads`
    uint32_t n_draft_outputs = 0;  // rows of logits in addition to one per sequence
    // Length of drafts that must be removable from a recurrent state, where llama.cpp keeps earlier states.
    uint32_t n_rollback       = 0;
    bool     has_hidden_rows  = false;  // see hidden_rows()
    ContextSettings context;

    // As in RopeSettings.
    template <typename Read>
    void read(const Read& read) {
        read("contextLength", context_length);
        read("parallel", n_slots);
        read("batchSize", n_batch);
        read("ubatchSize", n_ubatch);
        read("threads", threads);
        read("threadsBatch", threads_batch);
        read("cacheTypeK", context.keys);
        read("cacheTypeV", context.values);
        read("flashAttention", context.flash_attention);
        read("kvOffload", context.kv_offload);
        read("opOffload", context.op_offload);
        context.rope.read(read);
    }
};

// Computes plans and moves KV cells. Nothing else calls llama_decode or the KV memory functions with this context.
// llama.cpp aborts on misuse, so every condition is checked here before the call.
class Decoder {
public:
    // Throws `invalid_options`, `out_of_memory` or `model_load_failed`. `adapters` must outlive the decoder.
    Decoder(const Model& model, const Adapters& adapters, const DecoderOptions& options);
    ~Decoder();

    // Computes the plan. Throws `decode_failed`, or `engine_closed` after abort(); then the KV cells of the planned
    // sequences are undefined.
    void decode(const std::vector<PlanRow>& rows);
    // The same in two parts. On an asynchronous device, submit() returns while it computes; no other function may be
    // called before finish().
    void submit(const std::vector<PlanRow>& rows);
    void finish(const std::vector<PlanRow>& rows);
    bool is_asynchronous() const { return asynchronous_; }
    // Rows of logits of a plan's row, see PlanRow::n_outputs(); nullptr if there are not that many. Valid until the next
    // decode(). Any thread, between two calls of decode().
    float* logits(size_t plan_row, size_t output) const;
    // The hidden rows of the last step, for MTP heads; nullptr unless enabled by the options.
    const HiddenRows* hidden_rows() const { return hidden_rows_.get(); }
    // Removes the cells of a slot from `position` on. False if a part of a state cannot be removed.
    bool trim(int32_t slot, int32_t position);
    // Deletes the content of slots and snapshots.
    void drop(const std::vector<int32_t>& ids);
    // Maximum rows of logits per decode(), drafts included.
    size_t n_outputs_max() const { return n_outputs_max_; }
    // Passes over the weights in all calls of decode(): llama.cpp splits a step into several ubatches.
    uint64_t n_passes() const { return n_passes_; }
    // Executes a placement. False if the cells could not be loaded; then the slot is empty.
    bool place(const Placement& placement);
    // Saves the slot's content. Without memory, place() will not find the snapshot.
    void save(const Snapshot& snapshot);
    // Registers a restored state as a snapshot.
    void adopt(const Snapshot& snapshot, std::shared_ptr<const SnapshotBuffer> state);
    // The content of a slot or snapshot; nullptr without memory for it.
    std::shared_ptr<const SnapshotBuffer> state_of(int32_t id);
    // Any thread: makes a running decode() return early if the backend supports it (the CPU does).
    void abort() { aborted_.store(true, std::memory_order_relaxed); }

    // The size of a snapshot: per token, and in addition (a recurrent state).
    size_t bytes_per_token() const { return bytes_per_token_; }
    size_t bytes_per_snapshot() const { return bytes_per_snapshot_; }
    Truncation truncation() const { return truncation_; }
    // Maximum length of a draft that can be removed again; 0: none, because the state is recurrent.
    size_t n_rollback() const;
    // False for models that only encode: they have no KV cells, or their attention is not causal.
    bool     generates() const { return generates_; }
    // Whether the logits of a token are bitwise independent of the rest of the batch (batch-invariance.h).
    bool     batch_invariant() const { return batch_invariant_; }
    bool     has_memory() const;
    uint32_t context_length() const;
    uint32_t n_slots() const;
    int32_t  threads() const;
    int32_t  decode_threads() const;  // for steps of few tokens
    // Also for other contexts that compute on the engine's thread. Lives as long as the decoder.
    ggml_threadpool* threadpool() const { return threadpool_.get(); }
    uint32_t n_batch() const;
    uint32_t n_ubatch() const;

private:
    struct FreeContext {
        void operator()(llama_context* context) const;
    };

    struct SlotState {
        int32_t        slot = -1;
        SnapshotBuffer state;
    };

    void warm_up(TokenId token, bool choose_threads);
    void measure_snapshots(TokenId token);
    void add_row(const PlanRow& row);
    void compute(const std::vector<PlanRow>& rows);
    void compute_image(const PlanRow& row, const ImageChunk& chunk);
    void apply_adapters(const std::vector<PlanRow>& rows);
    void run(const llama_batch& batch);
    void look_up_logits(const std::vector<PlanRow>& rows);
    SnapshotBuffer save(int32_t slot);
    void save_as(int32_t id, int32_t slot);
    bool load_snapshot(int32_t slot, int32_t id);
    bool load(int32_t slot, const SnapshotBuffer& state);
    bool load_copy(int32_t slot, int32_t source);
    void add_token(TokenId token, int32_t position, int32_t slot, bool output);

    const Adapters&                                  adapters_;
    std::atomic<bool>                                aborted_{false};
    Threadpool                                               threadpool_;  // must outlive the context
    std::unique_ptr<llama_context, FreeContext>      context_;
    std::unique_ptr<HiddenRows>                      hidden_rows_;
    std::unique_ptr<llama_batch>                     batch_;
    std::map<int32_t, std::shared_ptr<const SnapshotBuffer>> snapshots_;
    SlotState                                        last_copied_;  // reused for further copies until the next decode()
    size_t                                           n_embd_             = 0;  // of image rows
    size_t                                           bytes_per_token_    = 0;
    size_t                                           bytes_per_snapshot_ = 0;
    size_t                                           n_outputs_max_      = 0;
    uint64_t                                         n_passes_           = 0;
    Truncation                                       truncation_         = Truncation::anywhere;
    bool                                             generates_          = false;
    bool                                             batch_invariant_    = false;
    bool                                             asynchronous_       = false;
    std::vector<int32_t>                             output_rows_;  // by plan row: first index in the batch
    std::vector<std::vector<float*>>                 logits_;       // by plan row
};

}  // namespace chasqui
