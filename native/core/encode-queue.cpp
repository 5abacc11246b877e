#include "encode-queue.h"

#include <new>
#include <utility>

namespace chasqui {

EncodeQueue::EncodeQueue(std::function<void()> prepare_thread, Encode encode, OnEncoded on_encoded)
    : encode_(std::move(encode)), on_encoded_(std::move(on_encoded)) {
    thread_ = std::thread([this, prepare = std::move(prepare_thread)] { run(prepare); });
}

EncodeQueue::~EncodeQueue() { stop(); }

void EncodeQueue::request(const PromptImage& image) {
    turns_.add();
    requests_.put({image.digest, image.source});
}

void EncodeQueue::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    turns_.stop();
    requests_.put({{}, {}, true});
    thread_.join();
}

void EncodeQueue::run(const std::function<void()>& prepare_thread) noexcept {
    prepare_thread();
    for (;;) {
        for (const Request& request : requests_.take(true)) {
            if (request.is_last || stopping_) return;
            Encoded encoded = answer(request);
            turns_.done();
            on_encoded_(std::move(encoded));
        }
    }
}

Encoded EncodeQueue::answer(const Request& request) noexcept {
    Encoded encoded;
    encoded.digest = request.digest;
    try {
        const auto source = request.source.lock();
        const auto rest   = [this] { return turns_.rest(); };
        if (source) encoded.embeddings = std::make_shared<const ImageEmbeddings>(encode_(*source, rest));
    } catch (const Error& error) {
        encoded.failure = Failure{error.code(), error.what()};
    } catch (const std::bad_alloc&) {
        encoded.failure = Failure{ErrorCode::out_of_memory, "There is not enough memory to encode the image."};
    } catch (const std::exception& error) {
        encoded.failure = Failure{ErrorCode::decode_failed, error.what()};
    }
    return encoded;
}

}  // namespace chasqui
