// Thread: engine.
#pragma once

#include "prefix-cache.h"
#include "sequence.h"

#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace chasqui {

struct SchedulerOptions {
    size_t             n_batch        = 2048;   // tokens in one step, at most
    double             target_step_ms = 100.0;  // how long a step may take while any sequence decodes
    PrefixCacheOptions cache;                   // its slots are the sequences that run at a time
    // Every sequence is computed alone and in the same slices, from its first token. Kernels round differently for
    // other batch shapes, so only this makes a completion independent of what else is computed.
    bool deterministic = false;
};

// One row of a step's plan: compute the next `n_tokens` of `sequence`, and after them the tokens of `draft`.
struct PlanRow {
    Sequence*            sequence;
    size_t               n_tokens;
    std::vector<TokenId> draft        = {};
    DraftLength*         draft_length = nullptr;  // of a draft model: is told how many tokens were accepted
};

// What one step does: first the placements, in order, then all rows together. Either all rows are text, or there is one
// row, of an image. All rows are computed with the same adapters. `pending_images`: images that have to be encoded before waiting sequences can start.
struct Plan {
    std::vector<Placement>    placements;
    std::vector<PlanRow>      rows;
    std::vector<PendingImage> pending_images = {};
};

// Decides which sequences are computed in the next step. Owns every sequence from submission to its end.
//
//   waiting ──admit──▶ running (one slot each) ──remove──▶ over
//      ▲                  │
//      └─────preempt──────┘
//
// Waiting sequences are admitted by priority, then in order of arrival. Waiting raises the priority, so that no
// sequence waits for ever. A prompt is passed over while a running sequence computes the prefix that both share. When
// all slots are taken, a paused sequence is preempted. If none is paused, the running sequence that would be admitted
// last loses its slot to one of higher priority, unless waiting had raised its own priority above that.
//
// A step computes one token of every decoding sequence, then as much of the prompts, in order of admission, as the
// budget allows. The budget is what is expected to fit into the target time, learnt from earlier steps, or into twenty
// times as much while no sequence decodes: a step cannot be interrupted, so new requests and cancellations wait for its
// end. A slice of a prompt never passes a point where a snapshot is to be taken.
//
// llama.cpp computes a batch with one set of adapters, so sequences of other sets take turns. A turn is a step, or as
// many short ones as fit into a share of the target time, because a change of adapters has llama.cpp lay out its graphs
// anew.
//
// All slots together may have fewer cells than each of them could use (`PrefixCacheOptions::max_cells`). Then sequences
// are admitted while their tokens fit beside those of the running ones, and in order: none passes over one that waits for
// cells. Cached prefixes give their cells up first. When running sequences have grown beyond what there is, the one that
// would be admitted last is preempted; one goes on in any case. Cells of drafts, gone after the step, do not count.
//
// A prompt with images is admitted once the images that it has to compute are encoded. llama.cpp takes text and images
// in separate batches, so steps with a slice of an image alternate with steps of text.
class Scheduler {
public:
    explicit Scheduler(SchedulerOptions options);

    void submit(std::unique_ptr<Sequence> sequence);
    // While paused, a sequence computes nothing and may lose its slot to any waiting sequence.
    void pause(Sequence& sequence, bool paused);
    // How long to delay the first step after idleness, so that requests sent together share its passes over the
    // weights. 0: no other sequence could join the step, or the time per token is not known yet.
    std::chrono::duration<double, std::milli> batching_delay() const;
    // Admits sequences and plans the next step. Without rows there is nothing to compute.
    Plan plan(Clock::time_point now);
    // The cached prefix could not be loaded into the slot: its sequence computes all of its tokens instead. If that
    // takes images, it leaves the plan and waits again until they are encoded.
    void placement_failed(int32_t slot, Plan& plan);
    // As PrefixCache::adopt().
    std::optional<Snapshot> adopt(const std::vector<TokenId>& tokens, const AdapterSet& adapters) {
        return cache_.adopt(tokens, adapters);
    }
    // Whether a cached prefix may be used for the sequence, and how many of its tokens are cached.
    bool   may_reuse(const Sequence& sequence) const;
    size_t n_cached_tokens(const Sequence& sequence) const;
    // The planned rows have been computed in this many milliseconds. Returns the snapshots to take now.
    std::vector<Snapshot> computed(const Plan& plan, double milliseconds);
    // Takes out a sequence and frees its slot. The slot's cells stay cached unless `cells_invalid`.
    std::unique_ptr<Sequence> remove(Sequence* sequence, bool cells_invalid = false);

    // How long images may be encoded between this step, which took `step_ms`, and the next.
    double encoding_ms(double step_ms) const;

    Sequence* find(uint32_t job_id) const;
    bool      idle() const { return waiting_.empty() && running_.empty(); }
    size_t    n_running() const { return running_.size(); }
    size_t    n_waiting() const { return waiting_.size(); }
    // Every sequence, running ones first.
    std::vector<Sequence*> all() const;
    const PrefixCache&     cache() const { return cache_; }
    // How often a sequence lost its slot to another one.
    uint64_t               n_preemptions() const { return n_preemptions_; }

private:
    using Owned = std::list<std::unique_ptr<Sequence>>;

    // The running sequences that can compute: those whose next token is text, decoding ones included, and the first
    // whose next token is of an image.
    struct Load {
        size_t    n_decoding = 0, n_text = 0;
        Sequence* first_image = nullptr;
    };

    Load      load() const;
    void      admit(Clock::time_point now, Plan& plan);
    void      note_waiting(const Sequence& sequence);
    bool      slots_stay() const;
    bool      needs_images(const Sequence& sequence) const;
    bool      awaits_images(Sequence& sequence, Plan& plan, size_t& n_with_images) const;
    Sequence* first_to_yield(Clock::time_point now, const std::vector<Sequence*>& except = {}) const;
    Sequence* victim_for(const Sequence& sequence, Clock::time_point now, const Plan& plan,
                         const std::vector<Sequence*>& except = {}) const;
    bool      find_cells(const Sequence& sequence, Clock::time_point now, const Plan& plan);
    bool      has_cells(const Sequence& sequence, size_t n_given_up) const;
    void      keep_to_cells(Clock::time_point now);
    void      empty_unused_slots(Plan& plan);
    size_t    n_claimed_cells() const;
    void      preempt(Sequence& victim);
    void      plan_rows(Plan& plan, Clock::time_point now);
    const AdapterSet* adapters_in_turn(Clock::time_point now);
    void      plan_deterministic_row(Plan& plan);
    bool      plan_image(Plan& plan);
    size_t    prompt_budget(size_t n_decoding, size_t n_reserved) const;
    size_t    image_budget(size_t n_decoding) const;
    double    max_step_ms(size_t n_decoding) const;

    SchedulerOptions options_;
    PrefixCache      cache_;
    Owned            waiting_;  // in order of arrival
    Owned            running_;  // in order of admission
    // At most this is the priority of those that wait, and whether there may be any with images among them.
    int64_t          highest_waiting_ = std::numeric_limits<int64_t>::min();
    bool             images_wait_     = false;
    double           ms_per_prompt_token_ = 0;  // 0: not known yet
    double           ms_per_decode_step_  = 0;
    double           ms_per_image_token_  = 0;
    bool             last_was_image_      = false;
    uint64_t         n_preemptions_       = 0;
    AdapterSet        turn_;  // the adapters of the last step of text, and since when they have been in use
    Clock::time_point turn_began_;
};

}  // namespace chasqui
