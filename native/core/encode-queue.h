// Thread: request(), hold() and let() engine, stop() any; `encode` and `on_encoded` run on the queue's own.
#pragma once

#include "encode-turns.h"
#include "error-code.h"
#include "event.h"
#include "mailbox.h"
#include "media.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace chasqui {

// How the encoding of a picture ended: with embeddings, with a failure, or, when nobody wanted them any more, with
// neither.
struct Encoded {
    ImageDigest                            digest;
    std::shared_ptr<const ImageEmbeddings> embeddings;
    std::optional<Failure>                 failure;
};

// Encodes pictures on a thread of its own, one after another, in order of request.
class EncodeQueue {
public:
    // To be called often while encoding: waits while somebody else has the cores. False: give up.
    using Rest      = std::function<bool()>;
    using Encode    = std::function<ImageEmbeddings(const ImageSource&, const Rest&)>;
    using OnEncoded = std::function<void(Encoded)>;

    // `prepare_thread` is called on the thread before anything else.
    EncodeQueue(std::function<void()> prepare_thread, Encode encode, OnEncoded on_encoded);
    // stop()
    ~EncodeQueue();

    // Not encoded if the source is gone by the time its turn comes.
    void request(const PromptImage& image);
    // See EncodeTurns; for an encoder that rests.
    void hold() { turns_.hold(); }
    void let(EncodeTurns::Clock::duration time) { turns_.let(time); }
    // Breaks off the picture that is being encoded, or waits for it where it never rests; drops the others. Any number
    // of times.
    void stop();

private:
    struct Request {
        ImageDigest                      digest;
        std::weak_ptr<const ImageSource> source;
        bool                             is_last = false;
    };

    void    run(const std::function<void()>& prepare_thread) noexcept;
    Encoded answer(const Request& request) noexcept;

    Encode            encode_;
    OnEncoded         on_encoded_;
    EncodeTurns       turns_;
    Mailbox<Request>  requests_;
    std::atomic<bool> stopping_{false};
    std::thread       thread_;  // last: it uses everything above
};

}  // namespace chasqui
