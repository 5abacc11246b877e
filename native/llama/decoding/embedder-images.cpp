// Inputs with images: they wait for the image encoder, then their images are computed apart from text.
#include "embedder.h"

#include "../../core/error-code.h"
#include "../images/image-batch.h"

#include <llama.h>

#include <algorithm>
#include <utility>

namespace chasqui {

void Embedder::check_media(const EmbedRequest& request) const {
    if (is_indivisible_) throw Error(ErrorCode::model_not_capable, "This model embeds texts only.");
    for (const ImageChunk& chunk : request.media->chunks) {
        if (!chunk.is_indivisible || chunk.n_tokens <= n_batch_) continue;
        throw Error(ErrorCode::invalid_image,
                    "The image takes " + std::to_string(chunk.n_tokens) + " tokens, but at most " +
                        std::to_string(n_batch_) + " can be computed at once.",
                    chunk.image);
    }
}

void Embedder::deliver(const EncodeResult& result) {
    if (n_waiting_ > 0) mailbox_.put(result);
}

template <typename Predicate>
void Embedder::forget_waiting(const Predicate& predicate) {
    const auto rest = std::remove_if(waiting_.begin(), waiting_.end(), predicate);
    n_waiting_ -= static_cast<size_t>(waiting_.end() - rest);
    waiting_.erase(rest, waiting_.end());
}

void Embedder::handle(const EncodeResult& result) {
    const auto is_done = [&](const std::shared_ptr<EmbedRequest>& request) {
        const std::vector<PromptImage>& images = request->media->images;
        for (size_t i = 0; i < images.size(); ++i) {
            if (images[i].digest != result.digest) continue;
            if (result.failure) {
                const Failure failure{result.failure->code, result.failure->message, i};
                std::exchange(request->on_done, nullptr)(request->embeddings, failure);
                return true;
            }
            if (result.embeddings) request->images[i] = result.embeddings;
        }
        if (std::count(request->images.begin(), request->images.end(), nullptr) > 0) return false;
        queue_.add(request);
        return true;
    };
    forget_waiting(is_done);
}

void Embedder::handle(const Cancel& cancelled) {
    const auto is_its = [&](const auto& each) { return each->id == cancelled.request_id; };
    forget_waiting(is_its);
    for (const auto& request : queue_.all()) {
        if (!is_its(request)) continue;
        for (const int32_t slot : queue_.drop(*request)) clear(slot);
    }
}

// See Decoder::compute_image().
void Embedder::decode_image(const EmbedRow& row, const ImageChunk& chunk) {
    const ImageEmbeddings& parts = *row.request->images[chunk.image];
    const auto             width = static_cast<size_t>(llama_model_n_embd_inp(model_.handle()));
    if (chunk.part >= parts.size() || parts[chunk.part].size() != chunk.n_tokens * width) {
        throw Error(ErrorCode::decode_failed, "The image was encoded to another size than its place has.");
    }
    ImageBatch      batch(chunk, parts[chunk.part], row.begin - chunk.begin, row.n_tokens, row.slot,
                          ImageBatch::Outputs::all);
    const NonCausal guard(context_.get(), chunk.is_indivisible);
    compute(batch.view());
    collect(row, 0);
}

}  // namespace chasqui
