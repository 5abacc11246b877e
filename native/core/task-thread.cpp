#include "task-thread.h"

#include <exception>
#include <utility>

namespace chasqui {

TaskThread::TaskThread(std::function<void()> prepare) : prepare_(std::move(prepare)), thread_([this] { run(); }) {}

void TaskThread::put(std::function<void()> task) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (closing_) return;
        tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
}

void TaskThread::close(Clock::time_point until) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!closing_) until_ = until;
        closing_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void TaskThread::run() {
    prepare_();
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
        if (closing_ && (tasks_.empty() || Clock::now() >= until_)) return;
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        try {
            task();
        } catch (const std::exception&) {
            // What is done here can be done without.
        }
        lock.lock();
    }
}

}  // namespace chasqui
