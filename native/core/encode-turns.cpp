#include "encode-turns.h"

namespace chasqui {

void EncodeTurns::add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++n_left_;
}

void EncodeTurns::hold() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, until_, [this] { return !begun_ || n_left_ == 0 || stopped_; });
    held_ = true;
    changed_.wait(lock, [this] { return !computing_ || stopped_; });
}

void EncodeTurns::let(Clock::duration time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_  = false;
    until_ = Clock::now() + time;
    changed_.notify_all();
}

void EncodeTurns::stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

bool EncodeTurns::rest() {
    std::unique_lock<std::mutex> lock(mutex_);
    begun_     = true;
    computing_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_ || stopped_; });
    computing_ = true;
    return !stopped_;
}

void EncodeTurns::done() {
    const std::lock_guard<std::mutex> lock(mutex_);
    begun_     = false;
    computing_ = false;
    --n_left_;
    changed_.notify_all();
}

}  // namespace chasqui
