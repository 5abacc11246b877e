#include "scheduler.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

// The first slice beside running decodes, before anything has been measured.
constexpr size_t kFirstSlice = 64;
// Prompts make progress even when the decoding alone exceeds the target.
constexpr size_t kSmallestSlice = 16;
// The weight of the newest measurement in the running averages.
constexpr double kNewest = 0.2;

void update_average(double& average, double value) {
    average = average == 0 ? value : average + kNewest * (value - average);
}

template <typename Container>
std::unique_ptr<Sequence> take(Container& from, Sequence* sequence) {
    const auto found = std::find_if(from.begin(), from.end(), [&](const auto& each) { return each.get() == sequence; });
    if (found == from.end()) return nullptr;
    auto taken = std::move(*found);
    from.erase(found);
    return taken;
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options) : options_(options) {
    for (size_t slot = options_.n_slots; slot > 0; --slot) free_slots_.push_back(static_cast<int32_t>(slot - 1));
}

void Scheduler::submit(std::unique_ptr<Sequence> sequence) { waiting_.push_back(std::move(sequence)); }

void Scheduler::admit(Clock::time_point now) {
    while (!waiting_.empty() && !free_slots_.empty()) {
        auto sequence = std::move(waiting_.front());
        waiting_.pop_front();
        sequence->slot = free_slots_.back();
        free_slots_.pop_back();
        sequence->status       = SequenceStatus::prefilling;
        sequence->scheduled_at = now;
        running_.push_back(std::move(sequence));
    }
}

Plan Scheduler::plan(Clock::time_point now) {
    admit(now);
    Plan plan;
    for (const auto& sequence : running_) {
        if (sequence->status == SequenceStatus::decoding) plan.push_back({sequence.get(), 1});
    }
    size_t budget = prompt_budget(plan.size());
    for (const auto& sequence : running_) {
        if (budget == 0) break;
        if (sequence->status != SequenceStatus::prefilling) continue;
        const size_t n_tokens = std::min(budget, sequence->n_pending());
        plan.push_back({sequence.get(), n_tokens});
        budget -= n_tokens;
    }
    return plan;
}

size_t Scheduler::prompt_budget(size_t n_decoding) const {
    const size_t room = options_.n_batch - n_decoding;
    if (n_decoding == 0) return room;
    if (ms_per_prompt_token_ == 0) return std::min(room, kFirstSlice);
    const double left  = options_.target_step_ms - ms_per_decode_step_;
    const auto   slice = static_cast<size_t>(std::max(0.0, left) / ms_per_prompt_token_);
    return std::min(room, std::max(slice, kSmallestSlice));
}

void Scheduler::observe(const Plan& plan, double milliseconds) {
    size_t n_decoding = 0, n_prompt = 0;
    for (const PlanRow& row : plan) {
        (row.sequence->status == SequenceStatus::decoding ? n_decoding : n_prompt) += row.n_tokens;
    }
    if (n_prompt == 0) {
        update_average(ms_per_decode_step_, milliseconds);
    } else if (n_prompt >= kSmallestSlice) {
        const double for_prompt = n_decoding == 0 ? milliseconds : std::max(0.0, milliseconds - ms_per_decode_step_);
        update_average(ms_per_prompt_token_, for_prompt / static_cast<double>(n_prompt));
    }
}

std::unique_ptr<Sequence> Scheduler::remove(Sequence* sequence) {
    if (auto taken = take(waiting_, sequence)) return taken;
    auto taken = take(running_, sequence);
    if (taken) free_slots_.push_back(taken->slot);
    return taken;
}

Sequence* Scheduler::find(uint32_t job_id) const {
    for (const auto& sequence : running_) {
        if (sequence->id() == job_id) return sequence.get();
    }
    for (const auto& sequence : waiting_) {
        if (sequence->id() == job_id) return sequence.get();
    }
    return nullptr;
}

std::vector<Sequence*> Scheduler::all() const {
    std::vector<Sequence*> sequences;
    for (const auto& sequence : running_) sequences.push_back(sequence.get());
    for (const auto& sequence : waiting_) sequences.push_back(sequence.get());
    return sequences;
}

}  // namespace chasqui
