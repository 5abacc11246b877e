// Thread: pause() and resume_for() engine; other public functions any; private ones the embedder's own.
#pragma once

#include "../../core/embed-queue.h"
#include "../../core/encode-queue.h"
#include "../../core/encoder-gate.h"
#include "../../core/mailbox.h"
#include "context-settings.h"
#include "../model/model.h"
#include "threadpool.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

struct llama_context;
struct llama_batch;
struct ggml_tensor;

namespace chasqui {

// How the outputs of an input's tokens become one embedding: the mean, the first or the last; or a score of the ranking
// head. `none` returns all outputs, joined and not normalised.
enum class Pooling { none, mean, cls, last, rank };

const char*            to_string(Pooling pooling);
std::optional<Pooling> pooling_from_string(const std::string& name);

struct EmbedderOptions {
    std::optional<Pooling> pooling;             // nullopt: from the model's file, or else the mean
    uint32_t               context_length = 0;  // of one input; 0: the trained length, at most 4096
    uint32_t               n_batch        = 512;
    int32_t                threads        = 0;      // 0: one per physical core
    bool                   has_memory     = false;  // the model has KV cells
    bool                   takes_turns    = false;  // the engine calls pause() and resume_for()
    ContextSettings        context;
};

// Computes embeddings with its own context and thread, so completions do not wait for earlier embeddings. If both
// compute on the CPU, they take turns (EncoderGate). Thread and context are created with the first request.
class Embedder {
public:
    // Throws `invalid_options` if `pooling` is `rank` and the model has no ranking head.
    Embedder(const Model& model, const EmbedderOptions& options);
    ~Embedder();

    // Throws `invalid_job`, `model_not_capable`, `invalid_image` or `context_length_exceeded`; later failures go to
    // `on_done`. A request with images waits for their encodings.
    void submit(std::shared_ptr<EmbedRequest> request);
    // Hands an encoded image to the requests that wait for it.
    void deliver(const EncodeResult& result);
    // Ends a request without calling `on_done`. Ignores unknown ids.
    void cancel(uint32_t request_id);
    // Ends all requests with `engine_closed` and joins the thread.
    void close();

    // Whether it takes turns, which is only possible on the CPU. Then it must be paused while the engine computes.
    bool can_yield() const { return can_yield_; }
    // See EncoderGate.
    void pause() { gate_.pause_encoder(); }
    void resume_for(EncoderGate::Clock::duration time) { gate_.resume_encoder_for(time); }

    // Tokens computed so far. Cannot change between pause() and resume_for().
    uint64_t n_tokens() const { return n_tokens_.load(std::memory_order_relaxed); }
    // Steps computed so far.
    uint64_t n_steps() const { return n_steps_.load(std::memory_order_relaxed); }
    Pooling  pooling() const { return pooling_; }
    // Maximum length of an input, in tokens.
    uint32_t context_length() const { return context_length_; }
    // Length of an embedding; for ranking models the number of scores.
    size_t embedding_length() const;

private:
    struct FreeContext {
        void operator()(llama_context* context) const;
    };
    struct FreeBatch {
        void operator()(llama_batch* batch) const;
    };
    struct Cancel {
        uint32_t request_id;
    };
    struct Close {};
    using Command = std::variant<std::shared_ptr<EmbedRequest>, EncodeResult, Cancel, Close>;

    void run() noexcept;
    bool receive();
    void handle(Command command);
    void handle(std::shared_ptr<EmbedRequest> request);
    void handle(const EncodeResult& result);
    void handle(const Cancel& cancelled);
    template <typename Predicate>
    void forget_waiting(const Predicate& predicate);
    void check_media(const EmbedRequest& request) const;
    void step();
    void create_context();
    void decode(const std::vector<EmbedRow>& rows);
    void decode_text(const std::vector<EmbedRow>& rows);
    void decode_image(const EmbedRow& row, const ImageChunk& chunk);
    void compute(const llama_batch& batch);
    static bool on_operation(ggml_tensor* operation, bool ask, void* embedder);
    void collect(const EmbedRow& row, int32_t batch_row);
    void take_outputs(const EmbedRow& row, int32_t batch_row);
    void pool(const EmbedRow& row, int32_t batch_row);
    void finish_input(EmbedRequest& request, size_t input) const;
    void fail(EmbedRequest& request, ErrorCode code, const std::string& message);
    void clear(int32_t slot);

    EmbedLimits limits() const;

    const Model&   model_;
    const Pooling  pooling_;
    const bool     is_indivisible_;  // an input must be computed in one step
    const uint32_t context_length_;
    const uint32_t n_batch_, n_slots_;
    const ContextSettings context_settings_;
    const int32_t  threads_;
    const bool     can_yield_;
    EmbedQueue     queue_;
    std::vector<std::shared_ptr<EmbedRequest>> waiting_;  // for encoded images
    std::atomic<size_t>                        n_waiting_{0};  // the same, including those in the mailbox
    bool           closing_ = false;

    std::atomic<uint64_t>                       n_tokens_{0}, n_steps_{0};
    std::atomic<bool>                           aborted_{false};
    EncoderGate                                 gate_;
    Threadpool                                  threadpool_;  // must outlive the context
    std::unique_ptr<llama_context, FreeContext> context_;
    std::unique_ptr<llama_batch, FreeBatch>     batch_;

    Mailbox<Command> mailbox_;
    std::mutex       thread_mutex_;
    bool             closed_ = false;  // guarded by thread_mutex_
    std::thread      thread_;
};

}  // namespace chasqui
