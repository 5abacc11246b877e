#include "image-encoder.h"

#include <utility>

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

ImageEncoder::ImageEncoder(size_t cache_bytes, std::function<void()> prepare_thread, EncodeQueue::Encode encode,
                           EncodeQueue::OnEncoded on_encoded)
    : cache_(cache_bytes), queue_(std::move(prepare_thread), std::move(encode), std::move(on_encoded)) {}

bool ImageEncoder::request_embeddings(const std::vector<PendingImage>& pending) {
    bool any = false;
    for (const PendingImage& each : pending) {
        const PromptImage& image  = each.sequence->media()->images[each.image];
        auto               cached = cache_.find(image.digest);
        if (cached) {
            each.sequence->embeddings[each.image] = std::move(cached);
            any                                   = true;
        } else if (in_flight_.insert(image.digest).second) {
            queue_.request(image, each.sequence->lifetime);
        }
    }
    return any;
}

std::shared_ptr<const ImageEmbeddings> ImageEncoder::request(const PromptImage& image, std::weak_ptr<const void> wanted) {
    auto cached = cache_.find(image.digest);
    if (!cached) queue_.request(image, std::move(wanted));
    return cached;
}

// If the first request is cancelled, its image is not encoded; other sequences request it again with the next plan.
std::vector<PendingImage> ImageEncoder::deliver(const EncodeResult& result, const std::vector<Sequence*>& sequences) {
    std::vector<PendingImage> failed;
    in_flight_.erase(result.digest);
    if (result.embeddings) cache_.insert(result.digest, result.embeddings);
    for (Sequence* sequence : sequences) {
        if (sequence->media() == nullptr || sequence->slot != Sequence::kNoSlot) continue;
        const auto& images = sequence->media()->images;
        for (size_t i = 0; i < images.size(); ++i) {
            if (images[i].digest != result.digest) continue;
            sequence->embeddings[i] = result.embeddings;
            if (!result.failure) continue;
            failed.push_back({sequence, i});
            break;
        }
    }
    return failed;
}

}  // namespace chasqui
