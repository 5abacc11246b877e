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
    size_t             n_batch        = 2048;   // maximum of tokens in one step
    double             target_step_ms = 100.0;  // of a step while any sequence decodes
    PrefixCacheOptions cache;                   // `n_slots` sequences run concurrently
    size_t             n_outputs = std::numeric_limits<size_t>::max();  // maximum of rows of logits in one step
    // Computes every sequence alone and in slices of fixed length, from its first token. Kernels round differently for
    // other batch shapes, so only this makes a completion independent of concurrent requests.
    bool deterministic = false;
};

// Compute the next `n_tokens` of `sequence`, then the tokens of `draft`.
struct PlanRow {
    Sequence*            sequence;
    size_t               n_tokens;
    std::vector<TokenId> draft        = {};
    DraftLength*         draft_length = nullptr;  // set for a draft model's draft: records how many tokens are accepted

    bool reaches_end() const { return n_tokens == sequence->n_pending(); }
    // Rows of logits, before the step is computed: the last ones of the row, draft included.
    size_t n_outputs() const {
        const size_t of_tokens = sequence->scores_prompt() ? n_tokens : reaches_end() ? 1 : 0;
        return of_tokens + draft.size();
    }
};

// One step: the placements, in order, then all rows in one batch. The rows share one set of adapters. They are all
// text, or a single row of an image.
struct Plan {
    std::vector<Placement>    placements;
    std::vector<PlanRow>      rows;
    std::vector<PendingImage> pending_images = {};  // to be encoded before waiting sequences can start
};

// Plans which sequences are computed in the next step. Owns every sequence from submission to its end.
//
//   waiting ──admit──▶ running (one slot each) ──remove──▶ over
//      ▲                  │
//      └─────preempt──────┘
//
// Admission: by priority, then in order of arrival. Waiting raises the priority, which prevents starvation. A prompt is
// skipped while a running sequence computes a prefix that both share. When all slots are in use, a paused sequence is
// preempted, or else the running one with the lowest priority if the waiting one has a higher priority both with and
// without the bonus for waiting.
//
// Budget: a step computes one token of every decoding sequence, then slices of prompts in order of admission. The
// slices are as long as is expected to fit into the target time, given the measured speed. While no sequence decodes, a
// step may take twenty times as long. A step cannot be interrupted, so new requests and cancellations wait for its end.
// A slice never extends beyond a point where a snapshot is due.
//
// Adapters: llama.cpp computes a batch with one set of adapters, so the sets take turns. Changing the set makes
// llama.cpp rebuild its graphs, so a turn lasts for as many short steps as fit into a share of the target time.
//
// Cells: the KV cache may have fewer cells than all slots could use (`PrefixCacheOptions::max_cells`). Then a sequence
// is admitted only if its tokens fit beside those of the running ones, and no other sequence overtakes one that waits
// for cells. Idle cached prefixes are evicted first. When running sequences outgrow the cells, the one with the lowest
// priority is preempted; one always continues. Cells of drafts are freed after the step and do not count.
//
// Images: a prompt with images is admitted once the images that it has to compute are encoded. llama.cpp takes text and
// images in separate batches, so steps with a slice of an image alternate with steps of text.
class Scheduler {
public:
    explicit Scheduler(SchedulerOptions options);

    void submit(std::unique_ptr<Sequence> sequence);
    // While paused, a sequence computes nothing and may lose its slot to any waiting sequence.
    void pause(Sequence& sequence, bool paused);
    // How long to delay the first step after idleness, so that requests sent together share its passes over the
    // weights. 0: no other sequence could join the step, or the time per token is not known yet.
    std::chrono::duration<double, std::milli> batching_delay() const;
    // Admits sequences and plans the next step. No rows: there is nothing to compute.
    Plan plan(Clock::time_point now);
    // The cached prefix could not be loaded into the slot: its sequence computes all of its tokens instead. If these
    // include images that are not encoded, the sequence leaves the plan and waits for them.
    void placement_failed(int32_t slot, Plan& plan);
    // See PrefixCache::adopt().
    std::optional<Snapshot> adopt(const std::vector<TokenId>& tokens, const CacheScope& scope) {
        return cache_.adopt(tokens, scope);
    }
    bool   may_reuse(const Sequence& sequence) const;
    size_t n_cached_tokens(const Sequence& sequence) const;
    // The planned rows have been computed in this many milliseconds. Returns the snapshots to take now.
    std::vector<Snapshot> computed(const Plan& plan, double milliseconds);
    // Removes a sequence and frees its slot. The slot's cells stay cached unless `cells_invalid`.
    std::unique_ptr<Sequence> remove(Sequence* sequence, bool cells_invalid = false);

    // How long images may be encoded between a step that took `step_ms` and the next one.
    double encoding_ms(double step_ms) const;

    Sequence* find(uint32_t job_id) const;
    bool      idle() const { return waiting_.empty() && running_.empty(); }
    size_t    n_running() const { return running_.size(); }
    size_t    n_waiting() const { return waiting_.size(); }
    // Every sequence, running ones first.
    std::vector<Sequence*> all() const;
    const PrefixCache&     cache() const { return cache_; }
    // See PrefixCache.
    std::vector<int32_t> forget(const Sequence& sequence) {
        return cache_.forget(sequence.tokens, sequence.n_cached(), sequence.job().cache_scope());
    }
    uint64_t               n_preemptions() const { return n_preemptions_; }

private:
    using Owned   = std::list<std::unique_ptr<Sequence>>;
    using Victims = std::vector<Sequence*>;

    // The running sequences that can compute: those with text as the next token, decoding ones included, and the first
    // one with an image as the next token.
    struct Load {
        size_t    n_decoding = 0, n_text = 0;
        Sequence* first_image = nullptr;
    };

    Load      load() const;
    void      admit(Clock::time_point now, Plan& plan);
    std::vector<Sequence*> admission_order(Clock::time_point now);
    void      note_waiting(const Sequence& sequence);
    bool                   cannot_admit() const;
    bool      needs_images(const Sequence& sequence) const;
    bool      awaits_images(Sequence& sequence, Plan& plan, size_t& n_with_images) const;
    bool                   is_prefix_in_flight(const Sequence& sequence) const;
    Sequence*              preemption_candidate(Clock::time_point now, const Victims& except = {}) const;
    Sequence*              victim_for(const Sequence& sequence, Clock::time_point now, const Plan& plan,
                                      const Victims& except = {}) const;
    std::optional<Victims> victims_for_cells(const Sequence& sequence, Clock::time_point now, const Plan& plan) const;
    bool                   has_cells(const Sequence& sequence, size_t n_freed) const;
    void                   preempt_beyond_cells(Clock::time_point now);
    void                   evict_idle_slots(Plan& plan);
    size_t    n_claimed_cells() const;
    void      preempt(Sequence& victim);
    size_t    max_slice(const Sequence& sequence, size_t n_outputs) const;
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
    // Upper bounds: of the priorities of the waiting sequences, and whether any of them has images.
    int64_t          highest_waiting_ = std::numeric_limits<int64_t>::min();
    bool              has_waiting_images_  = false;
    double            ms_per_prompt_token_ = 0;  // 0: not measured yet
    double           ms_per_decode_step_  = 0;
    double           ms_per_image_token_  = 0;
    bool             last_was_image_      = false;
    uint64_t         n_preemptions_       = 0;
    AdapterSet        turn_;  // the adapters of the last step of text
    Clock::time_point turn_began_;
};

}  // namespace chasqui
