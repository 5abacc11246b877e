// Thread: the public functions are for any thread; everything below `private` is the embedder's own thread's.
#pragma once

#include "../core/embed-queue.h"
#include "../core/mailbox.h"
#include "model.h"

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

namespace chasqui {

// How the vectors of an input's tokens become one: their mean, the first, the last; or a score by the model's own head.
enum class Pooling { mean, cls, last, rank };

const char*            to_string(Pooling pooling);
std::optional<Pooling> pooling_from_string(const std::string& name);

struct EmbedderOptions {
    std::optional<Pooling> pooling;             // none: as the model's file says, or else the mean
    uint32_t               context_length = 0;  // of one input; 0: the trained length, at most 4096
    uint32_t               n_batch        = 512;
    int32_t                threads        = 0;      // 0: one per physical core
    bool                   has_memory     = false;  // the model keeps KV cells
};

// Vectors of texts, in a context of its own, so that they wait for no answer that is being generated and no answer
// waits for them. Thread and context come with the first request: whoever asks for no vectors pays nothing.
class Embedder {
public:
    // Throws `invalid_options` when the model has no head for ranking and `pooling` wants one.
    Embedder(const Model& model, const EmbedderOptions& options);
    ~Embedder();

    // Throws `invalid_job` or `context_length_exceeded`; what goes wrong later is told to `on_done`.
    void submit(std::shared_ptr<EmbedRequest> request);
    // `on_done` is not called any more. Unknown ids are ignored.
    void cancel(uint32_t request_id);
    // Ends all requests with `engine_closed` and joins the thread.
    void close();

    // Computed so far.
    uint64_t n_tokens() const { return n_tokens_.load(std::memory_order_relaxed); }
    Pooling  pooling() const { return pooling_; }
    // Tokens of the longest input.
    uint32_t context_length() const { return context_length_; }
    // The length of a vector; 1 or more scores where the model ranks.
    size_t vector_length() const;

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
    using Command = std::variant<std::shared_ptr<EmbedRequest>, Cancel, Close>;

    void run() noexcept;
    bool receive();
    void handle(Command command);
    void pass();
    void create_context();
    void decode(const std::vector<EmbedRow>& rows);
    void collect(const EmbedRow& row, int32_t batch_row);
    void pool(const EmbedRow& row, int32_t batch_row);
    void finish_input(EmbedRequest& request, size_t input) const;
    void fail(EmbedRequest& request, ErrorCode code, const std::string& message);
    void clear(int32_t slot);

    EmbedLimits limits() const;

    const Model&   model_;
    const Pooling  pooling_;
    const bool     whole_;  // an input must be computed in one pass
    const uint32_t context_length_;
    const uint32_t n_batch_, n_slots_;
    const int32_t  threads_;
    EmbedQueue     queue_;
    bool           closing_ = false;

    std::atomic<uint64_t>                       n_tokens_{0};
    std::atomic<bool>                           aborted_{false};
    std::unique_ptr<llama_context, FreeContext> context_;
    std::unique_ptr<llama_batch, FreeBatch>     batch_;

    Mailbox<Command> mailbox_;
    std::mutex       thread_mutex_;
    bool             closed_ = false;  // guarded by thread_mutex_
    std::thread      thread_;
};

}  // namespace chasqui
