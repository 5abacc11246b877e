// Thread: engine.
#pragma once

#include "media.h"

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

namespace chasqui {

// Keeps encoder outputs by image digest, so that no image is encoded twice. The least recently used are evicted;
// sequences that hold one keep it alive.
class EncoderCache {
public:
    explicit EncoderCache(size_t max_bytes) : max_bytes_(max_bytes) {}

    // nullptr when the image is not in the cache.
    std::shared_ptr<const ImageEmbeddings> find(const ImageDigest& digest);
    // Does nothing for an image that is there already or is larger than the cache.
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
