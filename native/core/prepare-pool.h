// Thread: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace chasqui {

// Ends a task that has no business going on. Not a std::exception, so that nobody who handles those takes it for one.
struct Interrupted {};

// Threads for what a request needs before it can be computed: templates, tokens, grammars. How long that takes is up to
// whoever wrote the request, so that nothing else may depend on these threads, and each task has a deadline.
//
// Tasks belong to owners, who take turns: one with hundreds of tasks delays the others by one at a time. The deadline is
// for all that an owner has in here together, or one after another; waiting for a turn does not count. An owner gets back
// a second for each that it has nothing in here, and all that ordinary tasks took as soon as it has nothing in here.
//
// What takes longer than a quarter of a second goes on beside the others, with lower priority, and keeps nobody waiting.
// A task ends when its work looks at check(). One that does not, keeps its thread: it is told to have ended all the same,
// and another thread takes its place, a few times.
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
        size_t                n_workers = 2;  // for tasks that do not take long
        size_t                n_waiting = 1024;  // tasks, at most
        Clock::duration       timeout   = std::chrono::seconds(10);
        std::function<void()> prepare_thread;  // called on each thread as it starts
        std::function<void()> lower_priority;  // called on the thread of a task that takes long
    };

    struct Task {
        uint32_t                    owner = 0;
        std::function<void()>       work;    // may throw Interrupted, and nothing else
        std::function<void(Ending)> on_end;  // called once, on any thread; must not call the pool
    };

    explicit PreparePool(const Options& options);
    // close()
    ~PreparePool();
    PreparePool(const PreparePool&)            = delete;
    PreparePool& operator=(const PreparePool&) = delete;

    // False when too many are waiting, or the pool was closed: then nothing is called.
    bool submit(Task task);
    // Ends all tasks of an owner. Unknown owners are ignored.
    void cancel(uint32_t owner);
    // Ends all tasks. False when some work went on regardless; it must not be relied on that it ever ends. Says the same
    // when it is called again.
    bool close();

    // For the work of a task, now and then: throws Interrupted when it is to end. Does nothing on other threads.
    static void check();

private:
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace chasqui
