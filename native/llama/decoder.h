// Thread: engine, except abort(), logits() and the constructor. llama.cpp's rule is stricter than its header says:
// functions that read outputs (llama_get_logits_ith and its like) first sort the rows, without a lock. So every
// function of llama.cpp that takes the context is called on the engine thread, and logits() returns pointers that
// decode() looked up.
#pragma once

#include "../core/scheduler.h"
#include "../core/snapshot-buffer.h"
#include "adapters.h"
#include "context-settings.h"
#include "hidden-rows.h"
#include "model.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

struct llama_context;
struct llama_batch;
struct ggml_threadpool;

namespace chasqui {

struct DecoderOptions {
    uint32_t context_length  = 0;  // of one sequence, in tokens; 0: the trained length, at most 4096
    uint32_t n_slots         = 4;  // sequences that have KV cells at a time
    uint32_t n_batch         = 2048;
    uint32_t n_ubatch        = 512;
    int32_t  threads         = 0;  // 0: one per physical core, or fewer if the model is so small that they are slower
    int32_t  threads_batch   = 0;  // for steps of many tokens; 0: as many as `threads`
    uint32_t n_draft_outputs = 0;  // rows of logits in addition to one per sequence
    // The tokens of a draft, which a recurrent state can be taken back by where llama.cpp keeps its earlier ones.
    uint32_t n_rollback       = 0;
    bool     has_hidden_rows  = false;  // see hidden_rows()
    ContextSettings context;
};

// Computes plans and moves KV cells; the only caller of llama_decode, for this context, and of the KV memory functions.
// llama.cpp ends the process when these are misused, so every condition is checked here before the call.
class Decoder {
public:
    // Throws `invalid_options` or `out_of_memory`. `adapters` are those that jobs name; they stay where they are.
    Decoder(const Model& model, const Adapters& adapters, const DecoderOptions& options);
    ~Decoder();

    // Computes the plan. Throws `decode_failed`, or `engine_closed` after abort(); the KV cells of the planned
    // sequences are undefined then.
    void decode(const std::vector<PlanRow>& rows);
    // The same in two parts. Where the device is asynchronous, submit() returns while it computes; nothing else here may
    // be called before finish().
    void submit(const std::vector<PlanRow>& rows);
    void finish(const std::vector<PlanRow>& rows);
    bool is_asynchronous() const { return asynchronous_; }
    // The logits after the last token of the plan's row, or after the first `n_drafted` tokens of its draft; nullptr
    // when its sequence has more tokens to compute. Valid until the next decode(). Any thread, between two calls of
    // decode().
    float* logits(size_t plan_row, size_t n_drafted = 0) const;
    // What the last layer computed in the last step, for MTP heads; nullptr unless the options ask for it.
    const HiddenRows* hidden_rows() const { return hidden_rows_.get(); }
    // Removes the cells of a slot from that position on. False when a part of a state cannot be removed.
    bool trim(int32_t slot, int32_t position);
    // Rows of logits that one decode() can yield, those of drafts included.
    size_t n_outputs_max() const { return n_outputs_max_; }
    // Moves cells as the placement says. False when the cells could not be loaded; the slot is empty then.
    bool place(const Placement& placement);
    // Saves what the slot holds now. If there is no memory for it, place() will not find the snapshot.
    void save(const Snapshot& snapshot);
    // Takes over the state of a snapshot that comes from elsewhere.
    void adopt(const Snapshot& snapshot, std::shared_ptr<const SnapshotBuffer> state);
    // What a slot holds now, or what a snapshot has; nullptr without memory for it.
    std::shared_ptr<const SnapshotBuffer> state_of(int32_t id);
    // Any thread: makes a running decode() return early where the backend can (the CPU does).
    void abort() { aborted_.store(true, std::memory_order_relaxed); }

    // The size of a snapshot: for each token, and in addition to that (a recurrent state).
    size_t bytes_per_token() const { return bytes_per_token_; }
    size_t bytes_per_snapshot() const { return bytes_per_snapshot_; }
    Truncation truncation() const { return truncation_; }
    // The most tokens of a draft that can be removed again; 0: none, because the state is recurrent.
    size_t n_rollback() const;
    // False for models that only encode: they have no KV cells, or their attention is not causal.
    bool     generates() const { return generates_; }
    // Whether logits are known to have the same bits whatever is computed beside them (rounding.h).
    bool     rounds_alike() const { return rounds_alike_; }
    bool     has_memory() const;
    uint32_t context_length() const;
    uint32_t n_slots() const;
    int32_t  threads() const;
    int32_t  decode_threads() const;  // for a step of few tokens
    // Lives as long as the decoder; for other contexts that compute on the engine's thread.
    ggml_threadpool* threadpool() const { return threadpool_.get(); }
    uint32_t n_batch() const;
    uint32_t n_ubatch() const;

private:
    struct FreeContext {
        void operator()(llama_context* context) const;
    };
    struct FreeThreadpool {
        void operator()(ggml_threadpool* threadpool) const;
    };

    struct SlotState {
        int32_t        slot = -1;
        SnapshotBuffer state;
    };

    void create_threadpool(int32_t threads);
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
    std::unique_ptr<ggml_threadpool, FreeThreadpool> threadpool_;  // must outlive the context, which uses it
    std::unique_ptr<llama_context, FreeContext>      context_;
    std::unique_ptr<HiddenRows>                      hidden_rows_;
    std::unique_ptr<llama_batch>                     batch_;
    std::map<int32_t, std::shared_ptr<const SnapshotBuffer>> snapshots_;
    SlotState                                        last_copied_;  // for more copies of it before the next decode()
    size_t                                           n_embd_             = 0;  // of an image's row
    size_t                                           bytes_per_token_    = 0;
    size_t                                           bytes_per_snapshot_ = 0;
    size_t                                           n_outputs_max_      = 0;
    Truncation                                       truncation_         = Truncation::anywhere;
    bool                                             generates_          = false;
    bool                                             rounds_alike_       = false;
    bool                                             asynchronous_       = false;
    std::vector<int32_t>                             output_rows_;  // by plan row: first index in the batch, or -1
    std::vector<std::vector<float*>>                 logits_;       // by plan row: of its last token, then of its draft
};

}  // namespace chasqui
