#include "image-encoder.h"

#include <utility>

namespace chasqui {

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
