#include "task-thread.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace chasqui {

struct TaskThread::State {
    std::function<void()>             prepare;
    std::mutex                        mutex;  // guards the following members
    std::condition_variable           changed;
    std::deque<std::function<void()>> tasks;
    bool                              is_closing = false;
    bool                              has_ended  = false;
    Clock::time_point                 until;
};

TaskThread::TaskThread(std::function<void()> prepare) : state_(std::make_shared<State>()) {
    state_->prepare = std::move(prepare);
    thread_         = std::thread([state = state_] { run(*state); });
}

void TaskThread::put(std::function<void()> task) {
    {
        const std::lock_guard<std::mutex> lock(state_->mutex);
        if (state_->is_closing) return;
        state_->tasks.push_back(std::move(task));
    }
    state_->changed.notify_all();
}

bool TaskThread::close(Clock::time_point until, Clock::time_point give_up) {
    std::deque<std::function<void()>> dropped;  // destroyed after the lock is released, because tasks may own anything
    std::unique_lock<std::mutex>      lock(state_->mutex);
    if (!state_->is_closing) state_->until = until;
    state_->is_closing = true;
    state_->changed.notify_all();
    if (!thread_.joinable()) return state_->has_ended;
    const auto has_ended = [this] { return state_->has_ended; };
    // A task that owned the last reference to this object runs this on its own thread.
    bool ended = thread_.get_id() != std::this_thread::get_id();
    if (ended && give_up == Clock::time_point::max()) {
        state_->changed.wait(lock, has_ended);
    } else if (ended) {
        ended = state_->changed.wait_until(lock, give_up, has_ended);
    }
    dropped.swap(state_->tasks);
    lock.unlock();
    if (ended) {
        thread_.join();
    } else {
        thread_.detach();
    }
    return ended;
}

void TaskThread::run(State& state) {
    state.prepare();
    std::unique_lock<std::mutex> lock(state.mutex);
    for (;;) {
        state.changed.wait(lock, [&state] { return state.is_closing || !state.tasks.empty(); });
        if (state.is_closing && (state.tasks.empty() || Clock::now() >= state.until)) break;
        std::function<void()> task = std::move(state.tasks.front());
        state.tasks.pop_front();
        lock.unlock();
        try {
            task();
        } catch (const std::exception&) {
            // Tasks are optional work: a failure affects nothing else.
        }
        task = nullptr;
        lock.lock();
    }
    state.has_ended = true;
    state.changed.notify_all();
}

}  // namespace chasqui
