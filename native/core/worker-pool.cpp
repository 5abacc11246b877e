#include "worker-pool.h"

namespace chasqui {

WorkerPool::WorkerPool(size_t n_workers) {
    for (size_t i = 0; i < n_workers; ++i) workers_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
    }
    started_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::run(size_t n, const std::function<void(size_t)>& body) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        body_ = &body;
        next_ = 0;
        n_    = n;
    }
    if (n > 1) started_.notify_all();
    std::unique_lock<std::mutex> lock(mutex_);
    while (next_ < n_) {
        const size_t iteration = next_++;
        lock.unlock();
        body(iteration);
        lock.lock();
    }
    ended_.wait(lock, [this] { return n_running_ == 0; });
    body_ = nullptr;
}

void WorkerPool::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        started_.wait(lock, [this] { return closing_ || (body_ != nullptr && next_ < n_); });
        if (closing_) return;
        const size_t iteration = next_++;
        const auto&  body      = *body_;
        ++n_running_;
        lock.unlock();
        body(iteration);
        lock.lock();
        if (--n_running_ == 0 && next_ == n_) ended_.notify_one();
    }
}

}  // namespace chasqui
