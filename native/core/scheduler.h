// Thread: engine.
#pragma once

#include "prefix-cache.h"
#include "sequence.h"

#include <list>
#include <memory>
#include <vector>

namespace chasqui {

struct SchedulerOptions {
    size_t             n_batch        = 2048;   // tokens in one step, at most
    double             target_step_ms = 100.0;  // how long a step may take while anyone decodes
    PrefixCacheOptions cache;                   // its slots are the sequences that run at a time
    // Every sequence is computed alone, in the same slices, from its first token: kernels round differently for other
    // batch shapes, so this is what makes an answer independent of whatever else is going on.
    bool               deterministic = false;
};

// One row of a step's plan: compute the next `n_tokens` of `sequence`, and after them the tokens of `draft`.
struct PlanRow {
    Sequence*            sequence;
    size_t               n_tokens;
    std::vector<TokenId> draft        = {};
    DraftLength*         draft_length = nullptr;  // is told how many tokens of the draft were accepted
};

// What one step does: first the placements, in order, then all rows together. Either all rows are text, or there is one
// row, of an image. `pending_images`: images that have to be encoded before waiting sequences can start.
struct Plan {
    std::vector<Placement>   placements;
    std::vector<PlanRow>     rows;
    std::vector<PendingImage> pending_images = {};
};

// Decides who is computed in the next step. Owns every sequence from submission to its end.
//
//   waiting ──admit──▶ running (one slot each) ──remove──▶ over
//      ▲                  │
//      └─────preempt──────┘
//
// Who waits is admitted by priority, then in order of arrival; waiting raises the priority, so nobody waits for ever. A
// prompt whose beginning somebody else is computing is passed over until that is done. When all slots are taken, a
// paused sequence gives way, or else the one that would be admitted last does to a higher priority, unless waiting had
// raised its own above that.
//
// A step takes one token of every sequence, then as much of the prompts, in order of admission, as the budget allows:
// what is expected to fit into the target time, learnt from the steps before, or into twenty times as much when nobody
// decodes. A disconnect and a newcomer wait for the step that is under way. No slice of a prompt goes beyond a point
// where a snapshot is to be taken.
//
// A prompt with images is admitted once the images that it has to compute are encoded. llama.cpp takes text and images
// in separate batches, so steps with a slice of an image alternate with steps of text.
class Scheduler {
public:
    explicit Scheduler(SchedulerOptions options);

    void submit(std::unique_ptr<Sequence> sequence);
    // While paused, a sequence computes nothing, and gives its slot to whoever waits.
    void pause(Sequence& sequence, bool paused);
    // How long the first step after idleness may be put off for the next request to arrive, so that both share its
    // passes over the weights. 0: nobody else could join it, or it is not known yet what waiting is worth.
    std::chrono::duration<double, std::milli> worth_waiting() const;
    // Gives slots to whoever can have one and plans the step. Without rows there is nothing to compute.
    Plan plan(Clock::time_point now);
    // What was to be kept in the slot could not be brought there: its sequence computes all of its tokens, or waits
    // once more, without its rows in `plan`, when that needs images.
    void placement_failed(int32_t slot, Plan& plan);
    // The planned rows have been computed, which took this many milliseconds. Returns the snapshots to take now.
    std::vector<Snapshot> computed(const Plan& plan, double milliseconds);
    // Takes out a sequence and frees its slot. The slot's cells stay cached unless `cells_invalid`.
    std::unique_ptr<Sequence> remove(Sequence* sequence, bool cells_invalid = false);

    // How long images may be encoded between this step, which took `step_ms`, and the next.
    double encoding_ms(double step_ms) const;

    Sequence* find(uint32_t job_id) const;
    bool      idle() const { return waiting_.empty() && running_.empty(); }
    size_t    n_running() const { return running_.size(); }
    size_t    n_waiting() const { return waiting_.size(); }
    // Every sequence, running ones first: to end them all.
    std::vector<Sequence*> all() const;
    const PrefixCache&     cache() const { return cache_; }

private:
    using Owned = std::list<std::unique_ptr<Sequence>>;

    // Who can go on, and with what.
    struct Load {
        size_t    n_decoding = 0, n_texts = 0;  // those that decode are texts as well
        Sequence* first_image = nullptr;
    };

    Load   load() const;
    void   admit(Clock::time_point now, Plan& plan);
    bool   awaits_images(Sequence& sequence, Plan& plan, size_t& n_awaiting) const;
    Sequence* victim_for(const Sequence& sequence, Clock::time_point now, const Plan& plan) const;
    void   preempt(Sequence& victim);
    void   plan_rows(Plan& plan) const;
    void   plan_one_row(Plan& plan);
    bool   plan_image(Plan& plan);
    bool   may_reuse(const Sequence& sequence) const;
    size_t prompt_budget(size_t n_decoding, size_t n_least) const;
    size_t image_budget(size_t n_decoding) const;
    double longest_step_ms(size_t n_decoding) const;

    SchedulerOptions options_;
    PrefixCache      cache_;
    Owned            waiting_;  // in order of arrival
    Owned            running_;  // in order of admission
    double           ms_per_prompt_token_ = 0;  // 0: not known yet
    double           ms_per_decode_step_  = 0;
    double           ms_per_image_token_  = 0;
    bool             last_was_image_      = false;
};

}  // namespace chasqui
