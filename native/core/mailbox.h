// Thread: any may put; one takes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace chasqui {

// Commands on their way into the engine thread. The taker sleeps while there is nothing to do.
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

    // Everything that has arrived, in order; with `wait`, sleeps until that is not nothing.
    std::vector<Command> take(bool wait) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (wait) arrived_.wait(lock, [this] { return !commands_.empty(); });
        return std::exchange(commands_, {});
    }

    // The same, but sleeps no longer than this; nothing, when nothing has arrived by then.
    std::vector<Command> take_within(std::chrono::duration<double, std::milli> most) {
        std::unique_lock<std::mutex> lock(mutex_);
        arrived_.wait_for(lock, most, [this] { return !commands_.empty(); });
        return std::exchange(commands_, {});
    }

private:
    std::mutex              mutex_;
    std::condition_variable arrived_;
    std::vector<Command>    commands_;
};

}  // namespace chasqui
