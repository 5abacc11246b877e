// Thread: put() any; take() and take_for() one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace chasqui {

// A command queue of one thread, which takes all commands at once and can wait for them.
template <typename Command>
class Mailbox {
public:
    void put(Command command) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            commands_.push_back(std::move(command));
        }
        arrived_.notify_one();
    }

    // Returns all queued commands in order. With `wait`, blocks until there is at least one.
    std::vector<Command> take(bool wait) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (wait) arrived_.wait(lock, [this] { return !commands_.empty(); });
        return std::exchange(commands_, {});
    }

    // The same, but waits at most for `timeout`; may return nothing.
    std::vector<Command> take_for(std::chrono::duration<double, std::milli> timeout) {
        std::unique_lock<std::mutex> lock(mutex_);
        arrived_.wait_for(lock, timeout, [this] { return !commands_.empty(); });
        return std::exchange(commands_, {});
    }

private:
    std::mutex              mutex_;
    std::condition_variable arrived_;
    std::vector<Command>    commands_;
};

}  // namespace chasqui
