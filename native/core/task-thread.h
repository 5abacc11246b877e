// Thread: put() and close() the owner's; tasks run on their own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace chasqui {

// Runs background tasks one after another. An exception only ends its task.
class TaskThread {
public:
    using Clock = std::chrono::steady_clock;

    // `prepare` runs first on the thread.
    explicit TaskThread(std::function<void()> prepare = [] {});
    ~TaskThread() { close(); }
    TaskThread(const TaskThread&)            = delete;
    TaskThread& operator=(const TaskThread&) = delete;

    void put(std::function<void()> task);
    // Starts no task after `until`, drops the remaining and later ones, and waits for the running one. False if that
    // does not end by `give_up`: then it continues on its own, and has to own everything that it uses. Idempotent.
    bool close(Clock::time_point until = Clock::time_point::min(), Clock::time_point give_up = Clock::time_point::max());

private:
    struct State;

    static void run(State& state);

    std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
    std::thread            thread_;
};

}  // namespace chasqui
