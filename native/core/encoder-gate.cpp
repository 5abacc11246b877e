#include "encoder-gate.h"

namespace chasqui {

void EncoderGate::set_turn(Turn turn) {
    if (turn_ != Turn::stopped) turn_ = turn;
    changed_.notify_all();
}

void EncoderGate::pause_encoder() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, until_, [this] { return encoder_ == Encoder::idle || turn_ == Turn::stopped; });
    set_turn(Turn::engine);
    changed_.wait(lock, [this] { return encoder_ != Encoder::computing || turn_ == Turn::stopped; });
}

void EncoderGate::resume_encoder_for(Clock::duration time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    until_ = Clock::now() + time;
    set_turn(Turn::encoder);
}

void EncoderGate::stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    set_turn(Turn::stopped);
}

bool EncoderGate::yield_to_engine() {
    std::unique_lock<std::mutex> lock(mutex_);
    encoder_ = Encoder::yielded;
    changed_.notify_all();
    changed_.wait(lock, [this] { return turn_ != Turn::engine; });
    encoder_ = Encoder::computing;
    return turn_ != Turn::stopped;
}

void EncoderGate::work_done() {
    const std::lock_guard<std::mutex> lock(mutex_);
    encoder_ = Encoder::idle;
    changed_.notify_all();
}

}  // namespace chasqui
