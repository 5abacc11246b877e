// Thread: engine. No clock in here: times come from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace chasqui {

// The jobs that wait until the state of their first tokens has been read from disk. A disk that does not answer, such
// as one in a network, must not hold them: after some time they are computed, and nothing more is asked of it until it
// answers.
class StateWaits {
public:
    using Clock = std::chrono::steady_clock;

    // Without an answer, from the first job that waits on, or from the last answer. Slow disks read a gigabyte in that
    // time, which takes longer to compute than this.
    static constexpr std::chrono::seconds kMaxSilence{30};

    // False while the disk does not answer.
    bool may_ask() const { return !is_stalled_; }
    void add(uint32_t job_id, Clock::time_point now);
    // A state was read or could not be: these jobs wait no longer.
    void answered(const std::vector<uint32_t>& job_ids, Clock::time_point now);
    // When the others will have waited for long enough; nothing: none waits.
    std::optional<Clock::time_point> until() const;
    // All jobs that wait, each once, when that time has come; none before.
    std::vector<uint32_t> take_overdue(Clock::time_point now);

private:
    std::vector<uint32_t> job_ids_;
    Clock::time_point     since_;
    bool                  is_stalled_ = false;
};

}  // namespace chasqui
