// The part of the scheduler that limits the KV cells of all slots together (`PrefixCacheOptions::max_cells`).
#include "scheduler.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

// A sequence is admitted beside others only if 1/16 of all cells stays free for their completions. Otherwise one of
// them would be preempted after a few steps and lose its computed tokens.
constexpr size_t kReservedShare = 16;

}  // namespace

// Cells of the running sequences once all their tokens are computed.
size_t Scheduler::n_claimed_cells() const {
    size_t n_cells = 0;
    for (const auto& sequence : running_) n_cells += sequence->tokens.size();
    return n_cells;
}

// Whether the sequence fits once `n_freed` cells are freed. A sequence always fits alone, because none is longer than
// all cells together.
bool Scheduler::has_cells(const Sequence& sequence, size_t n_freed) const {
    const size_t n_cells = options_.cache.max_cells, n_claimed = n_claimed_cells() - n_freed;
    if (n_cells == 0 || n_claimed == 0) return true;
    return n_claimed + sequence.tokens.size() + n_cells / kReservedShare <= n_cells;
}

// The running sequences to preempt so that there are cells for `sequence`, often none; nullopt: it does not fit.
std::optional<Scheduler::Victims> Scheduler::victims_for_cells(const Sequence& sequence, Clock::time_point now,
                                                               const Plan& plan) const {
    Victims victims;
    size_t  n_freed = 0;
    while (!has_cells(sequence, n_freed)) {
        Sequence* victim = victim_for(sequence, now, plan, victims);
        if (victim == nullptr) return std::nullopt;
        n_freed += victim->tokens.size();
        victims.push_back(victim);
    }
    return victims;
}

// Preempts running sequences that have outgrown the cells.
void Scheduler::preempt_beyond_cells(Clock::time_point now) {
    const size_t n_cells = options_.cache.max_cells;
    while (n_cells > 0 && running_.size() > 1 && n_claimed_cells() > n_cells) preempt(*preemption_candidate(now));
}

// Idle prefixes may use the cells that the running sequences leave.
void Scheduler::evict_idle_slots(Plan& plan) {
    const size_t n_cells = options_.cache.max_cells;
    if (n_cells == 0) return;
    for (Placement& emptied : cache_.evict_idle_slots(n_cells - std::min(n_cells, n_claimed_cells()))) {
        plan.placements.push_back(std::move(emptied));
    }
}

}  // namespace chasqui
