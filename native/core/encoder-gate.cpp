#include "encoder-gate.h"

namespace chasqui {

void EncoderGate::add_work() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++n_pieces_;
}

void EncoderGate::pause_encoder() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, until_, [this] { return !begun_ || n_pieces_ == 0 || stopped_; });
    paused_ = true;
    changed_.wait(lock, [this] { return !computing_ || stopped_; });
}

void EncoderGate::resume_encoder_for(Clock::duration time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    paused_ = false;
    until_  = Clock::now() + time;
    changed_.notify_all();
}

void EncoderGate::stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

bool EncoderGate::yield_to_engine() {
    std::unique_lock<std::mutex> lock(mutex_);
    begun_     = true;
    computing_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !paused_ || stopped_; });
    computing_ = true;
    return !stopped_;
}

void EncoderGate::work_done() {
    const std::lock_guard<std::mutex> lock(mutex_);
    begun_     = false;
    computing_ = false;
    --n_pieces_;
    changed_.notify_all();
}

}  // namespace chasqui
