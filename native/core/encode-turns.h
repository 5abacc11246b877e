// Thread: add(), hold() and let() engine, stop() any; rest() and done() the one that encodes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace chasqui {

// Lets two threads take turns at the same cores: the engine's steps come first, and between them the encoder has as
// long as it is given. Both at once would wait for each other at every barrier of their kernels, and a step would take
// as long as chance has it.
//
//   engine   │ step │            │ step │            │ step │
//   encoder         │── let() ───│      │── let() ───│      hold() waits for the encoder's next rest()
class EncodeTurns {
public:
    using Clock = std::chrono::steady_clock;

    // One more picture is to be encoded.
    void add();
    // Waits until the time that was given is over, unless nobody makes use of it, and the encoder rests. An operation
    // that it has begun it ends.
    void hold();
    // Gives the encoder time; without a hold() it may have more.
    void let(Clock::duration time);
    // From now on nobody waits, and rest() says so.
    void stop();

    // Before an operation, and between two. Waits while the engine holds it. False when there is no use in going on.
    bool rest();
    // A picture is encoded, or nobody wants it any more.
    void done();

private:
    std::mutex              mutex_;
    std::condition_variable changed_;
    Clock::time_point       until_{};
    size_t                  n_left_    = 0;
    bool                    begun_     = false;  // a picture: its file has been decoded
    bool                    computing_ = false;
    bool                    held_      = false;
    bool                    stopped_   = false;
};

}  // namespace chasqui
