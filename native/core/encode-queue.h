// Thread: request(), pause() and resume_for() engine, stop() any; `encode` and `on_encoded` run on the queue's own.
#pragma once

#include "encoder-gate.h"
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

// How the encoding of an image ended: with embeddings, with a failure, or with neither when no sequence needed the
// image any more.
struct EncodeResult {
    ImageDigest                            digest;
    std::shared_ptr<const ImageEmbeddings> embeddings;
    std::optional<Failure>                 failure;
};

// Encodes images on a thread of its own, one after another, in order of request.
class EncodeQueue {
public:
    // See EncoderGate::yield_to_engine(). To be called often while encoding.
    using Yield     = std::function<bool()>;
    using Encode    = std::function<ImageEmbeddings(const ImageSource&, const Yield&)>;
    using OnEncoded = std::function<void(EncodeResult)>;

    // `prepare_thread` is called on the thread before anything else.
    EncodeQueue(std::function<void()> prepare_thread, Encode encode, OnEncoded on_encoded);
    // stop()
    ~EncodeQueue();

    // The image is skipped if what it is `wanted` for is gone by the time its turn comes.
    void request(const PromptImage& image, std::weak_ptr<const void> wanted);
    // See EncoderGate. Only for an `encode` that yields.
    void pause() { gate_.pause_encoder(); }
    void resume_for(EncoderGate::Clock::duration time) { gate_.resume_encoder_for(time); }
    // Breaks off the image that is being encoded, or waits for it if `encode` never yields; drops the others. May be
    // called any number of times.
    void stop();

private:
    struct Request {
        ImageDigest                      digest;
        std::weak_ptr<const ImageSource> source;
        std::weak_ptr<const void>        wanted;
        bool                             is_last = false;
    };

    void         run(const std::function<void()>& prepare_thread) noexcept;
    EncodeResult encode_image(const Request& request) noexcept;

    Encode            encode_;
    OnEncoded         on_encoded_;
    EncoderGate       gate_;
    Mailbox<Request>  requests_;
    std::atomic<bool> stopping_{false};
    std::thread       thread_;  // last: it uses everything above
};

}  // namespace chasqui
