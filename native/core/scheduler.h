// Thread: engine.
#pragma once

#include "sequence.h"

#include <deque>
#include <memory>
#include <vector>

namespace chasqui {

struct SchedulerOptions {
    size_t n_slots        = 4;      // sequences that hold KV cells at a time
    size_t n_batch        = 2048;   // tokens in one step, at most
    double target_step_ms = 100.0;  // how long a step may take while anyone decodes
};

// One line of a step's plan: compute the next `n_tokens` of `sequence`.
struct PlanRow {
    Sequence* sequence;
    size_t    n_tokens;
};
using Plan = std::vector<PlanRow>;

// Decides who is computed in the next step. Owns every sequence from submission to its end.
//
//   waiting (arrival order) ──admit──▶ running (one slot each) ──remove──▶ over
//
// A step takes one token of every sequence that is decoding, then as much of the waiting prompts, in arrival order,
// as the budget allows: the whole batch when nobody decodes, else what is expected to fit into the target time, learnt
// from the steps before.
class Scheduler {
public:
    explicit Scheduler(SchedulerOptions options);

    void submit(std::unique_ptr<Sequence> sequence);
    // Moves waiting sequences into free slots and plans the step. Empty when there is nothing to compute.
    Plan plan(Clock::time_point now);
    // What the planned step took, in milliseconds.
    void observe(const Plan& plan, double milliseconds);
    // Takes out a sequence and frees its slot. Its KV cells are the caller's to remove.
    std::unique_ptr<Sequence> remove(Sequence* sequence);

    Sequence* find(uint32_t job_id) const;
    bool      idle() const { return waiting_.empty() && running_.empty(); }
    size_t    n_running() const { return running_.size(); }
    size_t    n_waiting() const { return waiting_.size(); }
    // Every sequence, running ones first: to end them all.
    std::vector<Sequence*> all() const;

private:
    void   admit(Clock::time_point now);
    size_t prompt_budget(size_t n_decoding) const;

    SchedulerOptions                       options_;
    std::deque<std::unique_ptr<Sequence>>  waiting_;
    std::vector<std::unique_ptr<Sequence>> running_;  // in order of admission, which is order of arrival
    std::vector<int32_t>                   free_slots_;
    double                                 ms_per_prompt_token_ = 0;  // 0: not known yet
    double                                 ms_per_decode_step_  = 0;
};

}  // namespace chasqui
