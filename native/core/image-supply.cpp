#include "image-supply.h"

#include <utility>

namespace chasqui {

ImageSupply::ImageSupply(size_t cache_bytes, std::function<void()> prepare_thread, EncodeQueue::Encode encode,
                         EncodeQueue::OnEncoded on_encoded)
    : cache_(cache_bytes), queue_(std::move(prepare_thread), std::move(encode), std::move(on_encoded)) {}

bool ImageSupply::provide(const std::vector<WantedImage>& wanted) {
    bool any = false;
    for (const WantedImage& each : wanted) {
        const PromptImage& image  = each.sequence->media()->images[each.image];
        auto               cached = cache_.find(image.digest);
        if (cached) {
            each.sequence->embeddings[each.image] = std::move(cached);
            any                                   = true;
        } else if (under_way_.insert(image.digest).second) {
            queue_.request(image);
        }
    }
    return any;
}

// Whoever asked first may be gone, and with them the request; the others ask again with the next plan.
std::vector<WantedImage> ImageSupply::arrived(const Encoded& encoded, const std::vector<Sequence*>& sequences) {
    std::vector<WantedImage> failed;
    under_way_.erase(encoded.digest);
    if (encoded.embeddings) cache_.insert(encoded.digest, encoded.embeddings);
    for (Sequence* sequence : sequences) {
        if (sequence->media() == nullptr || sequence->slot != Sequence::kNoSlot) continue;
        const auto& images = sequence->media()->images;
        for (size_t i = 0; i < images.size(); ++i) {
            if (images[i].digest != encoded.digest) continue;
            sequence->embeddings[i] = encoded.embeddings;
            if (!encoded.failure) continue;
            failed.push_back({sequence, i});
            break;
        }
    }
    return failed;
}

}  // namespace chasqui
