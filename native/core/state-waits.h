// Thread: engine. Reads no clock: times are arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace chasqui {

// Jobs that wait for the state of a prefix from disk. A disk that does not respond, such as a network drive, must not
// block them: after a timeout they are computed without it, and no more states are requested until it responds.
class StateWaits {
public:
    using Clock = std::chrono::steady_clock;

    // Timeout since the first waiting job or the last response. Slow disks read a gigabyte in that time, and computing
    // such a state takes longer.
    static constexpr std::chrono::seconds kMaxSilence{30};

    // False while the disk does not respond.
    bool may_request() const { return !is_stalled_; }
    void add(uint32_t job_id, Clock::time_point now);
    // A state was read, or could not be read: these jobs no longer wait.
    void responded(const std::vector<uint32_t>& job_ids, Clock::time_point now);
    // When the remaining jobs time out; nullopt: none waits.
    std::optional<Clock::time_point> until() const;
    // Returns and removes all waiting jobs once they have timed out.
    std::vector<uint32_t> take_overdue(Clock::time_point now);

private:
    std::vector<uint32_t> job_ids_;
    Clock::time_point     since_;
    bool                  is_stalled_ = false;
};

}  // namespace chasqui
