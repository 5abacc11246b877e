// Thread: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace chasqui {

// Is thrown to end a task. Not a std::exception, so that no handler of those catches it by mistake.
struct Interrupted {};

// Threads for the work that a request needs before it can be computed: templates, tokens, grammars. How long that takes
// is up to the author of the request, so nothing else may depend on these threads, and each task has a deadline.
//
// Tasks belong to owners, which take turns: an owner with hundreds of tasks delays the others by one task at a time.
// The deadline is for all tasks of an owner, together or one after another; waiting for a turn does not count. While an
// owner has no tasks here, it gets the time that it spent back, a second for each second. It gets the time of ordinary
// tasks back at once.
//
// A task that takes longer than a quarter of a second is a long one: it continues with lower priority, and another
// thread takes its place for the other tasks. A task is ended by check(), which its work has to call. If the work does
// not, the end is reported all the same, and a few times another thread replaces the one that the work occupies, or
// on_stuck() ends the process.
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
        size_t                n_workers = 2;     // threads for tasks that are not long
        size_t                n_waiting = 1024;  // tasks that may wait, at most
        Clock::duration       timeout   = std::chrono::seconds(10);
        std::function<void()> prepare_thread;  // is called on each thread as it starts
        std::function<void()> lower_priority;  // is called on the thread of a long task
        std::function<void()> on_stuck;        // is called, on any thread, when the work of a task does not end
    };

    struct Task {
        uint32_t                    owner = 0;
        std::function<void()>       work;    // may throw Interrupted, but nothing else
        std::function<void(Ending)> on_end;  // is called once, on any thread; must not call the pool
    };

    explicit PreparePool(const Options& options);
    // close()
    ~PreparePool();
    PreparePool(const PreparePool&)            = delete;
    PreparePool& operator=(const PreparePool&) = delete;

    // False when too many tasks are waiting or the pool is closed; then neither work() nor on_end() is called.
    bool submit(Task task);
    // Ends all tasks of an owner. Unknown owners are ignored.
    void cancel(uint32_t owner);
    // Ends all tasks. False when some work does not end; it may then go on for ever. Later calls return the same.
    bool close();

    // Work has to call this often: it throws Interrupted when the task is to end. Does nothing on other threads.
    static void check();

private:
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace chasqui
