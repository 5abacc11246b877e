// Thread: any.
#pragma once

#include <atomic>
#include <chrono>

namespace chasqui {

// The time at which work must stop. The working thread polls it; any thread may change it.
class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    void set(Clock::time_point at) { at_.store(at.time_since_epoch().count(), std::memory_order_relaxed); }
    void clear() { set(Clock::time_point::max()); }
    void expire() { set(Clock::time_point::min()); }
    bool is_over() const { return Clock::now().time_since_epoch().count() >= at_.load(std::memory_order_relaxed); }

private:
    std::atomic<Clock::rep> at_{Clock::time_point::max().time_since_epoch().count()};
};

}  // namespace chasqui
