#include "simulation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <unordered_map>

namespace chasqui::sim {

namespace {

// The next request of a session and its arrival time.
struct Due {
    double ms;
    size_t session;
    bool   operator>(const Due& other) const {
        return ms != other.ms ? ms > other.ms : session > other.session;
    }
};

struct Conversation {
    size_t               n_turns = 0;
    std::vector<TokenId> tokens;  // conversation so far
};

struct Running {
    size_t      session       = 0;
    double      arrived_ms    = 0;
    double      last_token_ms = 0;
    Observation seen{};
};

Clock::time_point at(double ms) {
    return Clock::time_point() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

double since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Simulation {
public:
    Simulation(const std::vector<Session>& sessions, const SchedulerOptions& options, const CostModel& cost,
               bool cache_prompt)
        : sessions_(sessions), cost_(cost), cache_prompt_(cache_prompt), scheduler_(options),
          held_(options.cache.n_slots, 0) {
        for (size_t i = 0; i < sessions.size(); ++i) due_.push({sessions[i].arrival_ms, i});
    }

    Result run() {
        while (!due_.empty() || !scheduler_.idle()) {
            if (scheduler_.idle()) wake();
            receive();
            step();
        }
        result_.virtual_ms = now_;
        return std::move(result_);
    }

private:
    // As in the engine, the first step after an idle period waits for the batching delay.
    void wake() {
        now_ = std::max(now_, due_.top().ms);
        receive();
        while (true) {
            const double until = now_ + scheduler_.batching_delay().count();
            if (due_.empty() || due_.top().ms > until) {
                now_ = until;
                return;
            }
            now_ = due_.top().ms;
            receive();
        }
    }

    void receive() {
        for (; !due_.empty() && due_.top().ms <= now_; due_.pop()) submit(due_.top());
    }

    void submit(const Due& due) {
        const Session& session      = sessions_[due.session];
        Conversation&  conversation = conversations_[due.session];
        if (conversation.n_turns == 0) conversation.tokens = session.beginning();
        session.append_prompt(conversation.n_turns, conversation.tokens);

        Job job;
        job.id           = ++last_id_;
        job.prompt       = conversation.tokens;
        job.max_tokens   = static_cast<int32_t>(session.turns[conversation.n_turns].n_answer);
        job.priority     = session.priority;
        job.cache_prompt = cache_prompt_;
        auto sequence          = std::make_unique<Sequence>(std::move(job));
        sequence->submitted_at = at(due.ms);

        Running& running      = running_[last_id_];
        running.session       = due.session;
        running.arrived_ms    = due.ms;
        running.seen.kind     = session.kind;
        running.seen.n_prompt = conversation.tokens.size();
        scheduler_.submit(std::move(sequence));
    }

    void step() {
        const auto   started = Clock::now();
        const Plan   plan    = scheduler_.plan(at(now_));
        const double took    = since(started);
        result_.scheduler_us += took;
        result_.slowest_plan_us = std::max(result_.slowest_plan_us, took);
        n_placements_ += plan.placements.size();
        now_ += placements_ms(plan);
        if (plan.rows.empty()) return;
        const double step_ms = cost_.step(plan);
        now_ += step_ms;
        count(plan);
        finish_step(plan, step_ms);
    }

    // Copies between slots go through main memory. One saved state serves all copies from that slot.
    double placements_ms(const Plan& plan) {
        std::set<int32_t> saved;
        size_t            n_moved = 0;
        for (const Placement& placement : plan.placements) {
            if (placement.save_as >= 0) n_moved += held_[static_cast<size_t>(placement.slot)];
            if (placement.source == Placement::Source::slot || placement.source == Placement::Source::snapshot) {
                n_moved += placement.n_keep;
            }
            if (placement.source == Placement::Source::slot && saved.insert(placement.source_id).second) {
                n_moved += held_[static_cast<size_t>(placement.source_id)];
            }
        }
        result_.n_moved += n_moved;
        return cost_.moved(n_moved);
    }

    void count(const Plan& plan) {
        ++result_.n_steps;
        result_.n_passes += passes_of(plan, cost_.n_ubatch).size();
        for (size_t i = 1; i < plan.rows.size(); ++i) {
            if (plan.rows[i].sequence->slot != plan.rows[i - 1].sequence->slot + 1) ++result_.n_extra_runs;
        }
    }

    void finish_step(const Plan& plan, double step_ms) {
        auto started = Clock::now();
        scheduler_.computed(plan, step_ms);
        result_.scheduler_us += since(started);
        for (const PlanRow& row : plan.rows) {
            held_[static_cast<size_t>(row.sequence->slot)] = row.sequence->n_computed;
            if (row.sequence->n_pending() == 0) accept(*row.sequence);
        }
    }

    void accept(Sequence& sequence) {
        Running&       running = running_.at(sequence.id());
        const Session& session = sessions_[running.session];
        if (sequence.n_sampled() == 0) {
            running.seen.first_token = now_ - running.arrived_ms;
        } else {
            running.seen.longest_gap = std::max(running.seen.longest_gap, now_ - running.last_token_ms);
        }
        running.last_token_ms = now_;
        sequence.accept(session.answer_token(sequence.tokens.size()), "", false, SIZE_MAX);
        if (is_over(sequence.status)) end(sequence, running);
    }

    void end(Sequence& sequence, Running& running) {
        const Session& session      = sessions_[running.session];
        Conversation&  conversation = conversations_[running.session];
        running.seen.waiting  = std::chrono::duration<double, std::milli>(sequence.scheduled_at -
                                                                         sequence.submitted_at).count();
        running.seen.n_cached = static_cast<size_t>(sequence.finish().cached_tokens);
        running.seen.n_answer = sequence.n_sampled();
        result_.requests.push_back(running.seen);

        conversation.tokens = sequence.tokens;
        if (++conversation.n_turns < session.turns.size()) {
            due_.push({now_ + session.turns[conversation.n_turns].think_ms, running.session});
        } else {
            conversations_.erase(running.session);
        }
        running_.erase(sequence.id());
        const auto started = Clock::now();
        scheduler_.remove(&sequence);
        result_.scheduler_us += since(started);
        // Each additional placement of a request follows a preemption.
        result_.n_preempted = n_placements_ - std::min(n_placements_, result_.requests.size() + scheduler_.n_running());
    }

    const std::vector<Session>&                              sessions_;
    const CostModel&                                         cost_;
    const bool                                               cache_prompt_;
    Scheduler                                                scheduler_;
    std::vector<size_t>                                      held_;  // tokens in each slot
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    std::unordered_map<size_t, Conversation>                 conversations_;
    std::unordered_map<uint32_t, Running>                    running_;
    uint32_t                                                 last_id_      = 0;
    size_t                                                   n_placements_ = 0;
    double                                                   now_          = 0;
    Result                                                   result_;
};

}  // namespace

Result simulate(const std::vector<Session>& sessions, const SchedulerOptions& options, const CostModel& cost,
                bool cache_prompt) {
    return Simulation(sessions, options, cost, cache_prompt).run();
}

}  // namespace chasqui::sim
