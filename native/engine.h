// Thread: public functions any, private ones engine. For each step the engine thread distributes sample_row() over a
// pool; it touches only one sequence. Only the engine thread calls llama.cpp with the decoder's context. Other threads
// have their own contexts (vision, embedder) or none: they read the immutable vocabulary, and a sequence's own sampler
// and constraint.
#pragma once

#include "core/disk-cache.h"
#include "core/event.h"
#include "core/image-encoder.h"
#include "core/job.h"
#include "core/mailbox.h"
#include "core/outbox.h"
#include "core/scheduler.h"
#include "core/slow-sampler.h"
#include "core/state-waits.h"
#include "core/worker-pool.h"
#include "llama/model/adapters.h"
#include "llama/sampling/breakers.h"
#include "llama/decoding/decoder.h"
#include "llama/drafts/drafter.h"
#include "llama/decoding/embedder.h"
#include "llama/model/fit.h"
#include "llama/model/model.h"
#include "llama/model/offload.h"
#include "llama/chat/preparer.h"
#include "llama/images/vision.h"

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
    size_t                   cache_ram_bytes  = size_t{1} << 30;  // for snapshots of the prefix cache
    size_t                   kv_budget_bytes  = 0;  // for the cells of all sequences; 0: enough for all slots
    uint64_t                 cache_disk_bytes = 0;  // for state files; 0: none
    std::string              cache_folder;          // of the state files
    bool            deterministic   = false;            // see SchedulerOptions
    DraftOptions    draft;
    EmbedderOptions embedder;
    std::string     numa;           // see use_numa()
    std::string     chat_template;  // replaces the model's own unless empty
    std::vector<std::string> adapters;       // files; jobs refer to their indices

    // As in RopeSettings. `read.mebibytes` converts MiB to bytes.
    template <typename Read>
    void read(const Read& read) {
        offload.file.read(read);
        decoder.read(read);
        draft.read(read);
        read("mmprojPath", vision.path);
        read("mmprojOffload", vision.offload);
        read("mmprojDevice", vision.device);
        read.mebibytes("imageCacheMiB", vision.cache_bytes);
        read("embeddingContextLength", embedder.context_length);
        read("targetStepMs", target_step_ms);
        read.mebibytes("cacheRamMiB", cache_ram_bytes);
        read("kvBudgetBytes", kv_budget_bytes);
        read.mebibytes("cacheDiskMiB", cache_disk_bytes);
        read("cacheFolder", cache_folder);
        read("deterministic", deterministic);
        read("numa", numa);
        read("chatTemplate", chat_template);
        read("adapters", adapters);
    }
};

// See `fit_to_memory(FitRequest)`. `spare_bytes` stay free on each device.
OffloadOptions fit_to_memory(const std::string& path, const EngineOptions& options, size_t spare_bytes);
// See `measure_memory(FitRequest)`.
std::vector<DeviceMemory> measure_memory(const std::string& path, const EngineOptions& options);

// Snapshot between two steps.
struct EngineStats {
    size_t   active = 0, queued = 0;
    uint64_t kv_cells_used = 0, kv_cells_cached = 0, kv_cells_total = 0;
    uint64_t jobs_finished = 0, jobs_cancelled = 0;
    uint64_t prompt_tokens = 0, completion_tokens = 0;
    uint64_t drafts = 0, drafted_tokens = 0, accepted_tokens = 0;
    uint64_t decode_steps   = 0;
    uint64_t busy_slots     = 0;  // sum over these steps
    uint64_t decode_passes  = 0;  // passes over the weights in these steps
    double   step_ms        = 0;  // sum over these steps
    uint64_t preemptions    = 0;  // how often a sequence lost its slot
    uint64_t images_encoded = 0;
    uint64_t sampled_aside  = 0;  // tokens sampled by the slow sampler
    double   step_age_ms    = 0;  // age of the running step; 0: none
};

// A model, its context, and the one thread that owns the context.
//
//   submit, cancel ──▶ mailbox ──▶ receive ▸ plan ▸ place ▸ submit ▸ finish ▸ sample ▸ publish ──▶ outbox ──▶
//   take_events
//                         ▲        └────────────────── one step ──────────────────────────┘ └─ on_events, once ─┘
//                         └── tokens of the slow sampler, encoded images
//
// On an asynchronous device, a step publishes the previous step's tokens between submit and finish, so the device gets
// its next work first.
class Engine {
public:
    // Loads the model and starts the thread. Blocks while loading. Throws `Error`. Progress goes from 0 to 1 for the
    // model, then to 2 for the draft model.
    Engine(const std::string& path, const EngineOptions& options, const Model::Progress& progress);
    // Calls close(), then frees context and model.
    ~Engine();

    // Called on the engine thread when events become pending. Set it before the first submit().
    void set_on_events(std::function<void()> on_events) { outbox_.set_on_events(std::move(on_events)); }
    // All events since the last call.
    EventBatch take_events() { return outbox_.take(); }

    // Tokenizes a rendered prompt that contains `vision()->marker()` once per image; parses special tokens. Throws
    // `context_length_exceeded` early if the text cannot possibly fit, `invalid_image` or `image_not_supported`. Slow
    // for long texts.
    PreparedPrompt tokenize_prompt(const std::string&                                     prompt,
                                   const std::vector<std::shared_ptr<const ImageSource>>& images) const;
    // Validates the job; throws `context_length_exceeded` or `invalid_job`.
    void submit(Job job);
    // Ends the job without another event. Unknown ids are ignored, because the job may just have ended.
    void cancel(uint32_t job_id);
    // Ends the job with its next token, as if the model had ended it.
    void finish(uint32_t job_id);
    // Ends the job's running reasoning, if it has a limit (reasoning-budget.h).
    void end_reasoning(uint32_t job_id);
    // Back-pressure: a paused job computes nothing and may lose its slot to a waiting one.
    void pause(uint32_t job_id, bool paused);
    // Ends all jobs with `engine_closed` and joins the thread. False if a thread continues that does not use the
    // engine, because a disk does not respond. Idempotent; from any thread except the engine's.
    bool close();

    // Validates the inputs and computes their embeddings on the embedder's thread. Throws `invalid_job`,
    // `model_not_capable` or `context_length_exceeded`.
    void embed(std::shared_ptr<EmbedRequest> request);

    EngineStats stats() const;

    const Model&        model() const { return model_; }
    const ChatTemplate& chat_template() const { return preparer_.chat_template(); }
    Preparer&           preparer() { return preparer_; }
    const Vision*       vision() const { return vision_.get(); }  // nullptr: no projector
    Embedder&           embedder() { return embedder_; }
    // False for models that only encode.
    bool                generates() const { return decoder_.generates(); }
    // Whether the logits are bitwise independent of what else is computed. Assumes no adapters.
    bool                batch_invariant() const { return decoder_.batch_invariant(); }
    uint32_t            context_length() const { return context_length_; }
    uint32_t            n_slots() const { return n_slots_; }
    // KV cells of all sequences together.
    uint64_t            n_cells() const {
        return max_cells_ > 0 ? max_cells_ : static_cast<uint64_t>(context_length_) * n_slots_;
    }

private:
    // A sampled token that is not in the outbox yet.
    struct SampledToken {
        TokenId                 token;
        std::string             text;
        std::optional<Logprobs> logprobs;
    };

    // The result of sampling one row of a plan.
    struct RowOutcome {
        std::vector<SampledToken>   sampled_tokens;
        std::vector<Logprobs>       prompt_tokens;
        std::unique_ptr<SlowSample> slow_sample;  // the next token is left to the slow sampler
        std::optional<Failure>      failure;
    };

    struct Cancel {
        uint32_t job_id;
    };
    struct FinishJob {
        uint32_t job_id;
    };
    struct EndReasoning {
        uint32_t job_id;
    };
    struct Pause {
        uint32_t job_id;
        bool     paused;
    };
    // The embedder needs the images of a request.
    struct EmbedImages {
        std::weak_ptr<EmbedRequest> request;
    };
    struct Close {};
    using Command = std::variant<std::unique_ptr<Sequence>, Cancel, FinishJob, EndReasoning, Pause, EncodeResult,
                                 EmbedImages, std::unique_ptr<SlowSample>, FetchedState, Close>;

    void         run() noexcept;
    void         receive();
    void         step();
    void         compute(Plan& plan);
    void         pause_encoders();
    void         resume_encoders(Clock::time_point step_started);
    void         place(Plan& plan);
    bool         submit(const Plan& plan);
    bool         finish(const Plan& plan);
    template <typename Part>
    bool         attempt(const Plan& plan, const Part& part);
    void         report_progress(const Plan& plan);
    void         set_sampling_share(double milliseconds);
    void         sample(const Plan& plan);
    void         sample_row(const PlanRow& row, size_t plan_row, RowOutcome& outcome);
    size_t       score_prompt(const PlanRow& row, size_t plan_row, RowOutcome& outcome);
    void         check_logits(const float* logits) const;
    bool         sample_token(Sequence& sequence, float* logits, RowOutcome& outcome);
    bool         sample_within_share(Sequence& sequence, float* logits, RowOutcome& outcome) const;
    SampledToken accept(Sequence& sequence, TokenId token, std::optional<Logprobs> logprobs) const;
    void         take_outcome(const PlanRow& row, RowOutcome& outcome);
    void         publish();

    void              check_generates() const;
    std::string_view  piece(const Job& job, TokenId token) const;
    void              check_token(TokenId token, const char* where) const;
    void              check_prompt(const Job& job) const;
    [[noreturn]] void refuse_length(size_t n_tokens) const;

    void handle(Command command);
    void handle(const EncodeResult& result);
    void handle(const EmbedImages& wanted);
    void handle(std::unique_ptr<SlowSample> sample);
    void handle(FetchedState fetched);
    // `with_names`: control tokens have their names, which are otherwise not text.
    void add_pieces(Logprobs& logprobs, bool with_names) const;
    void emit(const Sequence& sequence, SampledToken sampled, bool is_last);
    void end(Sequence* sequence, bool cells_invalid = false);
    void fail(Sequence* sequence, Failure failure, bool cells_invalid = true);
    void fail_all(ErrorCode code, const std::string& message, bool cells_invalid = true);
    void count();

    static std::string identity_of_files(const std::string& path, const EngineOptions& options);
    void        open_disk_cache(const EngineOptions& options);
    std::string disk_scope(const CacheScope& scope) const;
    void        fetch_state(Sequence& sequence) noexcept;
    void               resume_overdue();
    void               save_to_disk(int32_t id) noexcept;
    void               discard_state(const Placement& placement);
    void               save_all_to_disk();

    const std::string       files_identity_;  // identity before loading; empty: not needed
    Model                   model_;
    Adapters                adapters_;
    Preparer                preparer_;
    const Tokenizer&        tokenizer_;
    BreakerFinder           breakers_;
    std::unique_ptr<Vision> vision_;
    Decoder                 decoder_;
    Drafter                 drafter_;
    Embedder                embedder_;
    const size_t            max_cells_;  // KV cells of all sequences; 0: enough for all slots
    const uint32_t          context_length_, n_slots_;
    const size_t            n_draft_max_;

    Mailbox<Command> mailbox_;
    Scheduler        scheduler_;
    WorkerPool       samplers_;  // the rows of a step are independent
    SlowSampler      slow_samples_;
    double           sampling_share_ms_ = 0;  // time limit for the constraint of one sequence within a step
    Outbox           outbox_;
    EngineStats      counts_;
    bool             has_work_ = false;  // the last plan had rows
    bool             closing_  = false;
    bool             disk_ended_ = true;  // result of disk_->close() on the engine thread; valid once it is joined

    Clock::time_point          submitted_;  // time of the last plan
    StateWaits                 state_waits_;
    std::shared_ptr<DiskCache> disk_;  // nullptr: no state files
    std::vector<std::string>   adapter_prints_;

    mutable std::mutex      stats_mutex_;
    EngineStats             stats_;
    std::atomic<Clock::rep> step_began_{0};  // 0: no step is running

    std::mutex                    close_mutex_;
    std::unique_ptr<ImageEncoder> image_encoder_;  // nullptr without vision_
    std::thread                   thread_;         // last: it uses everything above
};

}  // namespace chasqui
