// Thread: one.
#pragma once

#include "core/scheduler.h"
#include "cost-model.h"
#include "traffic.h"

#include <cstddef>
#include <vector>

namespace chasqui::sim {

// What one request saw, in milliseconds.
struct Observation {
    Shape  kind;
    double waiting;      // for a slot
    double first_token;  // since it arrived
    double longest_gap;  // between two of its tokens
    size_t n_prompt, n_cached, n_answer;
};

struct Result {
    std::vector<Observation> requests;
    double virtual_ms   = 0;  // until the last answer
    size_t n_steps      = 0;
    size_t n_passes     = 0;
    size_t n_extra_runs = 0;  // gaps between slots of the same step
    size_t n_moved      = 0;  // tokens saved or loaded
    size_t n_preempted  = 0;
    // Real time that the scheduler took, placing and booking included.
    double scheduler_us = 0, slowest_plan_us = 0;
};

// Plays the sessions against a scheduler and a clock of its own. Every session goes on when its answer is complete.
Result simulate(const std::vector<Session>& sessions, const SchedulerOptions& options, const CostModel& cost,
                bool cache_prompt);

}  // namespace chasqui::sim
