// Thread: pause() and resume_for() engine; the other public functions are for any thread, all below `private` for the
// embedder's own.
#pragma once

#include "../core/embed-queue.h"
#include "../core/encoder-gate.h"
#include "../core/mailbox.h"
#include "context-settings.h"
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
struct ggml_tensor;

namespace chasqui {

// How the outputs of an input's tokens become one embedding: their mean, the first, the last; or a score by the model's
// ranking head.
enum class Pooling { mean, cls, last, rank };

const char*            to_string(Pooling pooling);
std::optional<Pooling> pooling_from_string(const std::string& name);

struct EmbedderOptions {
    std::optional<Pooling> pooling;             // empty: as the model's file says, or else the mean
    uint32_t               context_length = 0;  // of one input; 0: the trained length, at most 4096
    uint32_t               n_batch        = 512;
    int32_t                threads        = 0;      // 0: one per physical core
    bool                   has_memory     = false;  // the model keeps KV cells
    bool                   takes_turns    = false;  // the engine calls pause() and resume_for()
    ContextSettings        context;
};

// Computes embeddings of texts in a context and on a thread of its own, so that completions need not wait for texts that
// came before them. Where both compute on the CPU they take turns at its cores (EncoderGate). Thread and context are
// created with the first request, so that they cost nothing if there is none.
class Embedder {
public:
    // Throws `invalid_options` when `pooling` is `rank` and the model has no ranking head.
    Embedder(const Model& model, const EmbedderOptions& options);
    ~Embedder();

    // Throws `invalid_job` or `context_length_exceeded`; `on_done` gets later failures.
    void submit(std::shared_ptr<EmbedRequest> request);
    // Ends a request without calling `on_done`. Unknown ids are ignored.
    void cancel(uint32_t request_id);
    // Ends all requests with `engine_closed` and joins the thread.
    void close();

    // Whether it takes turns, which it does on the CPU only, and therefore has to be paused while the engine computes.
    bool can_yield() const { return can_yield_; }
    // See EncoderGate.
    void pause() { gate_.pause_encoder(); }
    void resume_for(EncoderGate::Clock::duration time) { gate_.resume_encoder_for(time); }

    // Tokens computed so far. Stands still between pause() and resume_for().
    uint64_t n_tokens() const { return n_tokens_.load(std::memory_order_relaxed); }
    Pooling  pooling() const { return pooling_; }
    // The most tokens that an input may have.
    uint32_t context_length() const { return context_length_; }
    // The length of an embedding; if the model ranks, the number of scores.
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
    using Command = std::variant<std::shared_ptr<EmbedRequest>, Cancel, Close>;

    void run() noexcept;
    bool receive();
    void handle(Command command);
    void step();
    void create_context();
    void decode(const std::vector<EmbedRow>& rows);
    void compute();
    static bool on_operation(ggml_tensor* operation, bool ask, void* embedder);
    void collect(const EmbedRow& row, int32_t batch_row);
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
    bool           closing_ = false;

    std::atomic<uint64_t>                       n_tokens_{0};
    std::atomic<bool>                           aborted_{false};
    EncoderGate                                 gate_;
    std::unique_ptr<llama_context, FreeContext> context_;
    std::unique_ptr<llama_batch, FreeBatch>     batch_;

    Mailbox<Command> mailbox_;
    std::mutex       thread_mutex_;
    bool             closed_ = false;  // guarded by thread_mutex_
    std::thread      thread_;
};

}  // namespace chasqui
