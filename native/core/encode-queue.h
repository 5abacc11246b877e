// Thread: pause() and resume_for() engine; request() and stop() any; `encode` and `on_encoded` run on the queue's own.
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

// The result of encoding an image: embeddings, a failure, or neither if no sequence needs the image any more.
struct EncodeResult {
    ImageDigest                            digest;
    std::shared_ptr<const ImageEmbeddings> embeddings;
    std::optional<Failure>                 failure;
};

// Encodes images on its own thread, in order of request.
class EncodeQueue {
public:
    // See EncoderGate::yield_to_engine(). To be called often while encoding.
    using Yield     = std::function<bool()>;
    using Encode    = std::function<ImageEmbeddings(const ImageSource&, size_t n_tokens, const Yield&)>;
    using OnEncoded = std::function<void(EncodeResult)>;

    // `prepare_thread` runs first on the thread.
    EncodeQueue(std::function<void()> prepare_thread, Encode encode, OnEncoded on_encoded);
    ~EncodeQueue();

    // Skips the image if `wanted` has expired by its turn.
    void request(const PromptImage& image, std::weak_ptr<const void> wanted);
    // See EncoderGate. Only for an `encode` that yields.
    void pause() { gate_.pause_encoder(); }
    void resume_for(EncoderGate::Clock::duration time) { gate_.resume_encoder_for(time); }
    // Interrupts the current image, or waits for it if `encode` never yields; drops the others. Idempotent.
    void stop();

private:
    struct Request {
        ImageDigest                      digest;
        std::weak_ptr<const ImageSource> source;
        size_t                           n_tokens = 0;
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
