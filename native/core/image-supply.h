// Thread: engine.
#pragma once

#include "embedding-cache.h"
#include "encode-queue.h"
#include "sequence.h"

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace chasqui {

// Brings sequences the embeddings of their pictures: from the cache, or by having them encoded, each once however many
// want it.
class ImageSupply {
public:
    ImageSupply(size_t cache_bytes, std::function<void()> prepare_thread, EncodeQueue::Encode encode,
                EncodeQueue::OnEncoded on_encoded);

    // True when any of them was in the cache.
    bool provide(const std::vector<WantedImage>& wanted);
    // An encoding has ended: hands it to those of `sequences` that have the picture. Returns those whose picture could
    // not be encoded.
    std::vector<WantedImage> arrived(const Encoded& encoded, const std::vector<Sequence*>& sequences);
    // See EncodeQueue.
    void hold() { queue_.hold(); }
    void let(EncodeTurns::Clock::duration time) { queue_.let(time); }
    void stop() { queue_.stop(); }

    const EmbeddingCache& cache() const { return cache_; }

private:
    EmbeddingCache                  cache_;
    std::unordered_set<ImageDigest> under_way_;
    EncodeQueue                     queue_;
};

}  // namespace chasqui
