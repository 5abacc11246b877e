// The part of the scheduler that shares the KV cells, where all slots together have fewer than each could use.
#include "scheduler.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

// A sequence starts beside others only if this share of all cells stays free for what they sample. Otherwise one of them
// would have to give its slot up again after a few steps, and what it had computed with it.
constexpr size_t kShareToGrow = 16;

}  // namespace

// What running sequences hold once their tokens are computed.
size_t Scheduler::n_claimed_cells() const {
    size_t n_cells = 0;
    for (const auto& sequence : running_) n_cells += sequence->tokens.size();
    return n_cells;
}

// Once others have given up this many. Alone, every sequence has its cells: none is longer than all cells are.
bool Scheduler::has_cells(const Sequence& sequence, size_t n_given_up) const {
    const size_t n_cells = options_.cache.max_cells, n_left = n_claimed_cells() - n_given_up;
    if (n_cells == 0 || n_left == 0) return true;
    return n_left + sequence.tokens.size() + n_cells / kShareToGrow <= n_cells;
}

// Whether there are cells for the sequence, if need be those of running ones that give their slots up for it. None does
// so before it is known that this is enough.
bool Scheduler::find_cells(const Sequence& sequence, Clock::time_point now, const Plan& plan) {
    std::vector<Sequence*> victims;
    size_t                 n_given_up = 0;
    while (!has_cells(sequence, n_given_up)) {
        Sequence* victim = victim_for(sequence, now, plan, victims);
        if (victim == nullptr) return false;
        n_given_up += victim->tokens.size();
        victims.push_back(victim);
    }
    for (Sequence* victim : victims) preempt(*victim);
    return true;
}

void Scheduler::keep_to_cells(Clock::time_point now) {
    const size_t n_cells = options_.cache.max_cells;
    while (n_cells > 0 && running_.size() > 1 && n_claimed_cells() > n_cells) preempt(*first_to_yield(now));
}

// Cached prefixes have the cells that running sequences leave.
void Scheduler::empty_unused_slots(Plan& plan) {
    const size_t n_cells = options_.cache.max_cells;
    if (n_cells == 0) return;
    for (Placement& emptied : cache_.empty_unused(n_cells - std::min(n_cells, n_claimed_cells()))) {
        plan.placements.push_back(std::move(emptied));
    }
}

}  // namespace chasqui
