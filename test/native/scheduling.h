// Thread: main. Shared helpers of the scheduler tests.
#pragma once

#include "check.h"

#include "core/scheduler.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace chasqui::test {

inline SchedulerOptions options(size_t n_slots, size_t n_batch, double target_step_ms = 100) {
    return {n_batch, target_step_ms, {n_slots, 1, 0}};
}

inline std::unique_ptr<Sequence> sequence(uint32_t id, std::vector<TokenId> prompt, int32_t priority = 0) {
    Job job;
    job.id       = id;
    job.prompt   = std::move(prompt);
    job.priority = priority;
    return std::make_unique<Sequence>(std::move(job));
}

// A prompt that shares nothing with those of other ids.
inline std::unique_ptr<Sequence> sequence(uint32_t id, size_t n_prompt, int32_t priority = 0) {
    return sequence(id, std::vector<TokenId>(n_prompt, static_cast<TokenId>(1000 + id)), priority);
}

// Executes a plan as the engine does, without a model: computes all planned tokens and samples token 2.
inline void compute(Scheduler& scheduler, const Plan& plan, double milliseconds = 10) {
    scheduler.computed(plan, milliseconds);
    for (const PlanRow& row : plan.rows) {
        if (row.sequence->n_pending() == 0) row.sequence->accept(2, "x", false, 1000000);
    }
}

inline void step(Scheduler& scheduler) { compute(scheduler, scheduler.plan(Clock::now())); }

inline size_t tokens_of(const Plan& plan, uint32_t id) {
    for (const PlanRow& row : plan.rows) {
        if (row.sequence->id() == id) return row.n_tokens;
    }
    return 0;
}

inline bool runs(const Scheduler& scheduler, uint32_t id) { return scheduler.find(id)->slot != Sequence::kNoSlot; }

}  // namespace chasqui::test
