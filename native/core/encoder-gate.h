// Thread: pause_encoder(), resume_encoder_for() engine; stop() any; yield_to_engine(), work_done() the encoder's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace chasqui {

// Lets the engine and an encoder (of images, or of texts to embed) use the same cores in turn. The engine's steps have
// priority; between two steps the encoder may compute for a limited time. If both computed at once, the threads of each
// would wait for the other's at every barrier of their kernels, and the length of a step would be unpredictable.
//
//   engine    │ step │                          │ step │
//   encoder          │── resume_encoder_for() ──│        pause_encoder() waits for the encoder's next yield_to_engine()
//
// States of the encoder:
//
//              yield_to_engine()              yield_to_engine() while it is paused
//   ┌──────┐ ───────────────────▶ ┌───────────┐ ───────────────────────▶ ┌─────────┐
//   │ idle │                      │ computing │                          │ yielded │
//   └──────┘ ◀─────────────────── └───────────┘ ◀─────────────────────── └─────────┘
//                  work_done()                    resume_encoder_for()
class EncoderGate {
public:
    using Clock = std::chrono::steady_clock;

    // Waits until the encoder's time is over or it is idle, then until it yields: a started operation is not
    // interrupted.
    void pause_encoder();
    // The encoder may compute. The next pause_encoder() lets it compute for at least this long.
    void resume_encoder_for(Clock::duration time);
    // From now on no call waits, and yield_to_engine() returns false.
    void stop();

    // The encoder calls this before its first operation and between operations. Waits while the encoder is paused.
    // Returns false after stop(); the encoder must then give up.
    bool yield_to_engine();
    // An image or a batch of texts is finished, or no longer needed.
    void work_done();

private:
    // An encoder that does other work, such as decoding an image file, is idle as well.
    enum class Encoder { idle, computing, yielded };
    enum class Turn { encoder, engine, stopped };

    void set_turn(Turn turn);

    std::mutex              mutex_;
    std::condition_variable changed_;
    Clock::time_point       until_{};
    Encoder                 encoder_ = Encoder::idle;
    Turn                    turn_    = Turn::encoder;
};

}  // namespace chasqui
