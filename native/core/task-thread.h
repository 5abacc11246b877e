// Thread: put() and close() one, the owner's; tasks run on the thread's own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
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
    TaskThread(const TaskThread&)            = delete;
    TaskThread& operator=(const TaskThread&) = delete;

    void put(std::function<void()> task);
    // Begins no task after `until`, and returns when the last one has ended. Tasks that were not begun are dropped, and so
    // are those that are put afterwards. False when the last one has not ended by `give_up`, because it waits for something
    // that does not answer: then it goes on by itself, and has to own all that it uses. May be called any number of times.
    bool close(Clock::time_point until = Clock::time_point::min(), Clock::time_point give_up = Clock::time_point::max());

private:
    struct State;

    static void run(State& state);

    std::shared_ptr<State> state_;  // the thread has it as well, because it may outlive this object
    std::thread            thread_;
};

}  // namespace chasqui
