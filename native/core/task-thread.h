// Thread: put() and close() one, the owner's; tasks run on the thread's own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace chasqui {

// Runs tasks one after another beside everything else. What a task throws ends the task and nothing else.
class TaskThread {
public:
    using Clock = std::chrono::steady_clock;

    // `prepare` is called on the thread before anything else.
    explicit TaskThread(std::function<void()> prepare = [] {});
    // close()
    ~TaskThread() { close(); }

    void put(std::function<void()> task);
    // Begins no task after `until`, and returns when the last one has ended. May be called any number of times; tasks
    // that are put afterwards are dropped.
    void close(Clock::time_point until = Clock::time_point::min());

private:
    void run();

    std::function<void()>             prepare_;
    std::mutex                        mutex_;
    std::condition_variable           changed_;
    std::deque<std::function<void()>> tasks_;
    bool                              closing_ = false;
    Clock::time_point                 until_;
    std::thread                       thread_;  // last: it uses everything above
};

}  // namespace chasqui
