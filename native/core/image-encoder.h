// Thread: engine.
#pragma once

#include "encode-queue.h"
#include "encoder-cache.h"
#include "sequence.h"

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace chasqui {

// Provides the embeddings of images, from the cache or the encoder. Each image is encoded once, however many sequences
// need it.
class ImageEncoder {
public:
    ImageEncoder(size_t cache_bytes, std::function<void()> prepare_thread, EncodeQueue::Encode encode,
                 EncodeQueue::OnEncoded on_encoded);

    // Takes embeddings from the cache, and requests the others. True if any was in the cache.
    bool request_embeddings(const std::vector<PendingImage>& pending);
    // Hands the result to the `sequences` with that image. Returns those whose image could not be encoded.
    std::vector<PendingImage> deliver(const EncodeResult& result, const std::vector<Sequence*>& sequences);
    // See EncodeQueue.
    void pause() { queue_.pause(); }
    void resume_for(EncoderGate::Clock::duration time) { queue_.resume_for(time); }
    void stop() { queue_.stop(); }

    const EncoderCache& cache() const { return cache_; }

private:
    EncoderCache                    cache_;
    std::unordered_set<ImageDigest> in_flight_;
    EncodeQueue                     queue_;
};

}  // namespace chasqui
