// Thread: engine.
#pragma once

#include "encode-queue.h"
#include "encoder-cache.h"
#include "sequence.h"

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace chasqui {

// Gives sequences the embeddings of their images: from the cache, or by having the image encoded, once however many
// sequences need it.
class ImageEncoder {
public:
    ImageEncoder(size_t cache_bytes, std::function<void()> prepare_thread, EncodeQueue::Encode encode,
                 EncodeQueue::OnEncoded on_encoded);

    // Takes embeddings from the cache, and requests the encoding of the other images. True when any was in the cache.
    bool request_embeddings(const std::vector<PendingImage>& pending);
    // Hands the result to those of `sequences` that have the image. Returns those whose image could not be encoded.
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
