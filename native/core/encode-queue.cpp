#include "encode-queue.h"

#include <new>
#include <utility>

namespace chasqui {

EncodeQueue::EncodeQueue(std::function<void()> prepare_thread, Encode encode, OnEncoded on_encoded)
    : encode_(std::move(encode)), on_encoded_(std::move(on_encoded)) {
    thread_ = std::thread([this, prepare = std::move(prepare_thread)] { run(prepare); });
}

EncodeQueue::~EncodeQueue() { stop(); }

void EncodeQueue::request(const PromptImage& image, std::weak_ptr<const void> wanted) {
    requests_.put({image.digest, image.source, image.n_tokens, std::move(wanted)});
}

void EncodeQueue::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    gate_.stop();
    requests_.put({{}, {}, 0, {}, true});
    thread_.join();
}

void EncodeQueue::run(const std::function<void()>& prepare_thread) noexcept {
    prepare_thread();
    for (;;) {
        for (const Request& request : requests_.take(true)) {
            if (request.is_last || stopping_) return;
            EncodeResult result = encode_image(request);
            gate_.work_done();
            on_encoded_(std::move(result));
        }
    }
}

EncodeResult EncodeQueue::encode_image(const Request& request) noexcept {
    EncodeResult result;
    result.digest = request.digest;
    try {
        // The source may outlive a cancelled request, because JavaScript holds it.
        const auto source = request.wanted.expired() ? nullptr : request.source.lock();
        const auto yield  = [this] { return gate_.yield_to_engine(); };
        if (source) {
            result.embeddings = std::make_shared<const ImageEmbeddings>(encode_(*source, request.n_tokens, yield));
        }
    } catch (const std::exception& error) {
        result.failure = Failure::of(error);
    }
    return result;
}

}  // namespace chasqui
