// Thread: one.
#pragma once

#include "core/scheduler.h"
#include "cost-model.h"
#include "traffic.h"

#include <cstddef>
#include <vector>

namespace chasqui::sim {

// Latencies of one request, in milliseconds.
struct Observation {
    Shape  kind;
    double waiting;      // for a slot
    double first_token;  // since its arrival
    double longest_gap;  // between two tokens
    size_t n_prompt, n_cached, n_answer;
};

struct Result {
    std::vector<Observation> requests;
    double virtual_ms   = 0;  // simulated time until the last completion
    size_t n_steps      = 0;
    size_t n_passes     = 0;
    size_t n_extra_runs = 0;  // gaps between slots of the same step
    size_t n_moved      = 0;  // tokens saved or loaded
    size_t n_preempted  = 0;
    // Real time of the scheduler, including placement and accounting.
    double scheduler_us = 0, slowest_plan_us = 0;
};

// Simulates the sessions with a scheduler in simulated time. A session continues after its completion.
Result simulate(const std::vector<Session>& sessions, const SchedulerOptions& options, const CostModel& cost,
                bool cache_prompt);

}  // namespace chasqui::sim
