#include "encoder-cache.h"

namespace chasqui {

namespace {

size_t bytes_of(const ImageEmbeddings& embeddings) {
    size_t n_numbers = 0;
    for (const auto& part : embeddings) n_numbers += part.size();
    return n_numbers * sizeof(float);
}

}  // namespace

std::shared_ptr<const ImageEmbeddings> EncoderCache::find(const ImageDigest& digest) {
    const auto found = by_digest_.find(digest);
    if (found == by_digest_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
}

void EncoderCache::insert(const ImageDigest& digest, std::shared_ptr<const ImageEmbeddings> embeddings) {
    const size_t bytes = bytes_of(*embeddings);
    if (bytes > max_bytes_ || by_digest_.count(digest) != 0) return;
    while (bytes_ + bytes > max_bytes_) {
        bytes_ -= bytes_of(*entries_.back().second);
        by_digest_.erase(entries_.back().first);
        entries_.pop_back();
    }
    entries_.emplace_front(digest, std::move(embeddings));
    by_digest_[digest] = entries_.begin();
    bytes_ += bytes;
}

}  // namespace chasqui
