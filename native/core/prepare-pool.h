// Thread: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace chasqui {

// Thrown by check() to end a task. Not a std::exception, so that handlers of those do not catch it by mistake.
struct Interrupted {};

// Threads for what a request needs before it can be computed: templates, tokens, grammars. The request determines how
// long that takes, so nothing else may depend on these threads, and each task has a deadline.
//
// Owners are scheduled round robin, one task at a time, so an owner with hundreds of tasks does not delay the others.
// The time limit is shared by all tasks of an owner; waiting for a turn does not count. While an owner is idle, its
// spent time is refunded, one second per second; the time of ordinary tasks is refunded at once.
//
// A task longer than 250 ms is a long task: it continues with lower priority, and another thread takes its place. A
// task ends when its work calls check(). If the work does not call it, the end is reported nevertheless, and its thread
// is abandoned: another one replaces it, or on_stuck() ends the process.
class PreparePool {
public:
    using Clock = std::chrono::steady_clock;

    enum class Ending {
        done,
        timed_out,
        cancelled,
        closed,
    };

    struct Options {
        size_t                n_workers = 2;     // threads for ordinary tasks
        size_t                n_waiting = 1024;  // maximum of waiting tasks
        Clock::duration       timeout   = std::chrono::seconds(10);
        std::function<void()> prepare_thread;  // called on each thread as it starts
        std::function<void()> lower_priority;  // called on the thread of a long task
        std::function<void()> on_stuck;        // called on any thread when the work of a task does not end
    };

    struct Task {
        uint32_t                    owner = 0;
        std::function<void()>       work;    // may throw Interrupted, but nothing else
        std::function<void(Ending)> on_end;  // called once, on any thread; must not call the pool
    };

    explicit PreparePool(const Options& options);
    ~PreparePool() { close(); }
    PreparePool(const PreparePool&)            = delete;
    PreparePool& operator=(const PreparePool&) = delete;

    // False if too many tasks are waiting or the pool is closed; then neither work() nor on_end() is called. Throws
    // std::system_error if the system has no thread for the pool.
    bool submit(Task task);
    // Ends all tasks of an owner. Ignores unknown owners.
    void cancel(uint32_t owner);
    // Ends all tasks. False if some work does not end within two seconds; it may run for ever. Later calls return the
    // same.
    bool close();

    // To be called often by the work: throws Interrupted if the task is to end. No effect on other threads.
    static void check();

private:
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace chasqui
