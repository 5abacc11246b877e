// Thread: engine.
#pragma once

#include "encode-queue.h"
#include "media.h"
#include "sequence.h"

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chasqui {

// An LRU cache of encoder outputs by image digest. Sequences keep the embeddings that they use alive.
class EncoderCache {
public:
    explicit EncoderCache(size_t max_bytes) : max_bytes_(max_bytes) {}

    // nullptr if not cached.
    std::shared_ptr<const ImageEmbeddings> find(const ImageDigest& digest);
    // Ignores images that are already cached or larger than the cache.
    void insert(const ImageDigest& digest, std::shared_ptr<const ImageEmbeddings> embeddings);

    size_t bytes() const { return bytes_; }
    size_t size() const { return entries_.size(); }

private:
    using Entry = std::pair<ImageDigest, std::shared_ptr<const ImageEmbeddings>>;

    size_t                                                      max_bytes_;
    size_t                                                      bytes_ = 0;
    std::list<Entry>                                            entries_;  // most recently used first
    std::unordered_map<ImageDigest, std::list<Entry>::iterator> by_digest_;
};

// Provides the embeddings of images, from the cache or the encoder. Each image is encoded once, however many sequences
// need it.
class ImageEncoder {
public:
    ImageEncoder(size_t cache_bytes, std::function<void()> prepare_thread, EncodeQueue::Encode encode,
                 EncodeQueue::OnEncoded on_encoded);

    // Takes embeddings from the cache, and requests the others. True if any was in the cache.
    bool request_embeddings(const std::vector<PendingImage>& pending);
    // For the embedder: returns cached embeddings, or else encodes the image. Skips it if `wanted` has expired by its turn.
    std::shared_ptr<const ImageEmbeddings> request(const PromptImage& image, std::weak_ptr<const void> wanted);
    // Hands the result to the `sequences` with that image. Returns all of them if the image could not be encoded.
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
