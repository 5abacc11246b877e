// Thread: engine.
#pragma once

#include "image-supply.h"
#include "scheduler.h"

#include <chrono>

namespace chasqui {

// Keeps the encoder from computing beside a step, and gives it its time afterwards. `images`: nullptr to do neither.
class EncoderHold {
public:
    EncoderHold(ImageSupply* images, const Scheduler& scheduler) : images_(images), scheduler_(scheduler) {
        if (images_ == nullptr) return;
        images_->hold();
        began_ = Clock::now();
    }
    ~EncoderHold() {
        if (images_ == nullptr) return;
        const std::chrono::duration<double, std::milli> took = Clock::now() - began_;
        const std::chrono::duration<double, std::milli> time(scheduler_.encode_ms(took.count()));
        images_->let(std::chrono::duration_cast<Clock::duration>(time));
    }

private:
    ImageSupply*      images_;
    const Scheduler&  scheduler_;
    Clock::time_point began_;
};

}  // namespace chasqui
