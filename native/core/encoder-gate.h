// Thread: pause_encoder(), resume_encoder_for() engine; add_work(), stop() any; yield_to_engine(), work_done() the one
// that encodes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace chasqui {

// Lets the engine and an encoder, of images or of texts to embed, use the same cores in turn: the engine's steps come
// first, and between two steps the encoder gets a limited time. If both computed at once, the threads of each would wait
// for the other's at every barrier of their kernels, and the length of a step would be left to chance.
//
//   engine   │ step │                          │ step │
//   encoder         │── resume_encoder_for() ──│        pause_encoder() waits for the encoder's next yield_to_engine()
class EncoderGate {
public:
    using Clock = std::chrono::steady_clock;

    // One more piece of work, an image or a batch of texts, is to be encoded.
    void add_work();
    // Waits until the encoder has used its time or has no work left, and then until it yields: an operation that has
    // begun is not interrupted.
    void pause_encoder();
    // The encoder may compute. The next pause_encoder() waits for this long before it takes effect.
    void resume_encoder_for(Clock::duration time);
    // From now on no call waits, and yield_to_engine() returns false.
    void stop();

    // Called by the encoder before its first operation and between two. Waits while the engine has paused it. The
    // encoder must give up when this returns false, which happens after stop().
    bool yield_to_engine();
    // A piece of work is done, or not needed any more.
    void work_done();

private:
    std::mutex              mutex_;
    std::condition_variable changed_;
    Clock::time_point       until_{};
    size_t                  n_pieces_  = 0;      // of work to be encoded
    bool                    begun_     = false;  // what comes before an encoding, as decoding a file, is over
    bool                    computing_ = false;
    bool                    paused_    = false;
    bool                    stopped_   = false;
};

}  // namespace chasqui
