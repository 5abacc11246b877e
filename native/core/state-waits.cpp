#include "state-waits.h"

#include <algorithm>
#include <utility>

namespace chasqui {

void StateWaits::add(uint32_t job_id, Clock::time_point now) {
    if (job_ids_.empty()) since_ = now;
    job_ids_.push_back(job_id);
}

void StateWaits::responded(const std::vector<uint32_t>& job_ids, Clock::time_point now) {
    const auto is_answered = [&](uint32_t id) {
        return std::find(job_ids.begin(), job_ids.end(), id) != job_ids.end();
    };
    job_ids_.erase(std::remove_if(job_ids_.begin(), job_ids_.end(), is_answered), job_ids_.end());
    since_      = now;
    is_stalled_ = false;
}

std::optional<StateWaits::Clock::time_point> StateWaits::until() const {
    if (job_ids_.empty()) return std::nullopt;
    return since_ + kMaxSilence;
}

std::vector<uint32_t> StateWaits::take_overdue(Clock::time_point now) {
    if (job_ids_.empty() || now < since_ + kMaxSilence) return {};
    is_stalled_ = true;
    return std::exchange(job_ids_, {});
}

}  // namespace chasqui
