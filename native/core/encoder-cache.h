// Thread: engine.
#pragma once

#include "media.h"

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

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

}  // namespace chasqui
