// Thread: the public functions are for any thread; everything below `private` is the engine thread's. The only caller
// of llama.cpp with the decoder's context is the engine thread; other threads have contexts of their own (vision,
// embedder) or none: they read the model's vocabulary, which nobody changes, and a sequence's own sampler and
// constraint.
#pragma once

#include "core/event.h"
#include "core/image-encoder.h"
#include "core/job.h"
#include "core/mailbox.h"
#include "core/outbox.h"
#include "core/scheduler.h"
#include "core/slow-sampler.h"
#include "core/worker-pool.h"
#include "llama/chat-template.h"
#include "llama/decoder.h"
#include "llama/drafter.h"
#include "llama/embedder.h"
#include "llama/grammar.h"
#include "llama/model.h"
#include "llama/offload.h"
#include "llama/tokenizer.h"
#include "llama/vision.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

namespace chasqui {

struct EngineOptions {
    OffloadOptions  offload;
    DecoderOptions  decoder;
    VisionOptions   vision;
    double          target_step_ms  = 100.0;
    size_t          cache_ram_bytes = size_t{1} << 30;  // for what is evicted from the KV cells
    bool            deterministic   = false;            // see SchedulerOptions
    DraftOptions    draft;
    EmbedderOptions embedder;
    std::string     chat_template;                      // instead of the model's own; empty: that one
};

// As `fit_to_memory(FitRequest)`, for an engine with these options. `spare_bytes` stay free on each device.
OffloadOptions fit_to_memory(const std::string& path, const EngineOptions& options, size_t spare_bytes);

// Counts at one moment, taken between two steps.
struct EngineStats {
    size_t   active = 0, queued = 0;
    uint64_t kv_cells_used = 0, kv_cells_cached = 0, kv_cells_total = 0;
    uint64_t jobs_finished = 0, jobs_cancelled = 0;
    uint64_t prompt_tokens = 0, completion_tokens = 0;
    uint64_t drafted_tokens = 0, accepted_tokens = 0;
    uint64_t decode_steps   = 0;
    uint64_t images_encoded = 0;
    uint64_t sampled_aside  = 0;  // tokens (slow-sampler.h)
    double   step_age_ms    = 0;  // since the step that is under way began; 0: none is
};

// A model, its context, and the one thread that owns the context.
//
//   submit, cancel ──▶ mailbox ──▶ receive ▸ plan ▸ place ▸ decode ▸ sample ▸ publish ──▶ outbox ──▶ take_events
//                         ▲        └────────────── one step ─────────────────────┘ └─ on_events, once ─┘
//                         └── tokens that took longer than a step can wait (slow-sampler.h), images that are encoded
class Engine {
public:
    // Loads the model and starts the thread. Blocks for as long as loading takes. Throws `Error`.
    Engine(const std::string& path, const EngineOptions& options, const Model::Progress& progress);
    // close(), then frees context and model.
    ~Engine();

    // Called on the engine thread when events are pending that were not before. Set it before the first submit.
    void set_on_events(std::function<void()> on_events) { outbox_.set_on_events(std::move(on_events)); }
    // Everything that happened since the last call.
    EventBatch take_events() { return outbox_.take(); }

    // The tokens of a rendered prompt, special tokens parsed, that holds `vision()->marker()` once for each image.
    // Throws `context_length_exceeded` before doing the work when the text cannot possibly fit, `invalid_image`,
    // `image_not_supported`. Any thread; slow for long texts.
    PreparedPrompt tokenize_prompt(const std::string&                                     prompt,
                                   const std::vector<std::shared_ptr<const ImageSource>>& images) const;
    // What a job's text must be. Any thread; slow for large grammars. Throws `invalid_grammar`.
    // For `n` jobs.
    std::vector<std::shared_ptr<TokenConstraint>> compile_grammar(const GrammarSettings& grammar, size_t n) {
        return grammars_.compile(grammar, n);
    }
    // Checks the job against model and context; throws `context_length_exceeded` or `invalid_job`.
    void submit(Job job);
    // The job ends without another event. Unknown ids are ignored: the job may just have ended by itself.
    void cancel(uint32_t job_id);
    // While paused, a job computes nothing and yields its slot to whoever waits: its reader is behind.
    void pause(uint32_t job_id, bool paused);
    // Ends all jobs with `engine_closed` and joins the thread. Any number of times, from any thread but its own.
    void close();

    // Checks the inputs and computes their vectors on a thread of its own. Throws `invalid_job`, `model_not_capable` or
    // `context_length_exceeded`.
    void embed(std::shared_ptr<EmbedRequest> request);

    EngineStats stats() const;

    const Model&        model() const { return model_; }
    const Tokenizer&    tokenizer() const { return tokenizer_; }
    const ChatTemplate& chat_template() const { return chat_template_; }
    const Vision*       vision() const { return vision_.get(); }  // nullptr: the model takes text only
    Embedder&           embedder() { return embedder_; }
    // False for models that only encode.
    bool                generates() const { return decoder_.generates(); }
    uint32_t            context_length() const { return context_length_; }
    uint32_t            parallel() const { return parallel_; }

private:
    // A sampled token, before it is told to anyone.
    struct Produced {
        TokenId                 token;
        std::string             text;
        std::optional<Logprobs> logprobs;
    };

    // What came of sampling a row of a plan.
    struct RowOutcome {
        std::vector<Produced>       produced;
        std::unique_ptr<SlowSample> aside;  // the next token took too long
        std::optional<Failure>      failure;
    };

    struct Cancel {
        uint32_t job_id;
    };
    struct Pause {
        uint32_t job_id;
        bool     paused;
    };
    struct Close {};
    using Command =
        std::variant<std::unique_ptr<Sequence>, Cancel, Pause, EncodeResult, std::unique_ptr<SlowSample>, Close>;

    void run() noexcept;
    void receive();
    void step();
    void compute(Plan& plan);
    void resume_encoder(Clock::time_point step_started);
    void place(Plan& plan);
    bool decode(const Plan& plan);
    void share_step(double milliseconds);
    void sample(const Plan& plan);
    void produce(const PlanRow& row, size_t plan_row, RowOutcome& outcome);
    bool sample_token(Sequence& sequence, float* logits, RowOutcome& outcome);
    bool sample_within_share(Sequence& sequence, float* logits, RowOutcome& outcome) const;
    Produced accept(Sequence& sequence, TokenId token, std::optional<Logprobs> logprobs) const;
    void take_outcome(const PlanRow& row, RowOutcome& outcome);
    void publish();

    void              check_generates() const;
    std::string_view  piece(const Job& job, TokenId token) const;
    void              check_token(TokenId token, const char* where) const;
    void              check_prompt(const Job& job) const;
    [[noreturn]] void refuse_length(const std::string& n_tokens) const;

    void handle(Command command);
    void handle(const EncodeResult& result);
    void handle(std::unique_ptr<SlowSample> sample);
    void emit(const Sequence& sequence, Produced produced, bool is_last);
    void end(Sequence* sequence, bool cells_invalid = false);
    void fail(Sequence* sequence, Failure failure);
    void fail_all(ErrorCode code, const std::string& message);
    void count();

    Model                   model_;
    Tokenizer               tokenizer_;
    ChatTemplate            chat_template_;
    GrammarCompiler         grammars_;
    std::unique_ptr<Vision> vision_;
    Decoder                 decoder_;
    Drafter                 drafter_;
    Embedder                embedder_;
    const uint32_t          context_length_, parallel_;
    const size_t            n_draft_max_;

    Mailbox<Command> mailbox_;
    Scheduler        scheduler_;
    WorkerPool       samplers_;  // sequences sample independently of each other
    SlowSampler      slow_samples_;
    double           sampling_share_ms_ = 0;  // of a step, for one sequence's constraint
    Outbox           outbox_;
    EngineStats      counts_;
    bool             has_work_ = false;  // the last plan had rows
    bool             closing_  = false;

    mutable std::mutex      stats_mutex_;
    EngineStats             stats_;
    std::atomic<Clock::rep> step_began_{0};  // 0: no step is under way

    std::mutex                    close_mutex_;
    std::unique_ptr<ImageEncoder> image_encoder_;  // nullptr without vision_
    std::thread                   thread_;         // last: it uses everything above
};

}  // namespace chasqui
