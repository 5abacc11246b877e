// Thread: one caller at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace chasqui {

// Threads that share the iterations of a loop with the calling thread.
class WorkerPool {
public:
    // `n_workers`: threads in addition to the calling one.
    explicit WorkerPool(size_t n_workers);
    ~WorkerPool();

    // Runs body(0) ... body(n - 1) in any order on any thread, and returns when all are done. `body` must not throw.
    void run(size_t n, const std::function<void(size_t)>& body);

private:
    void work();

    std::mutex                         mutex_;
    std::condition_variable            started_, ended_;
    const std::function<void(size_t)>* body_      = nullptr;
    size_t                             next_      = 0;
    size_t                             n_         = 0;
    size_t                             n_running_ = 0;  // unfinished iterations of the workers
    bool                               closing_   = false;
    std::vector<std::thread>           workers_;
};

}  // namespace chasqui
