#include "engine.h"

#include "core/error-code.h"
#include "core/snapshot-points.h"
#include "llama/chat/reasoning.h"

#include <chrono>
#include <exception>
#include <utility>

namespace chasqui {

namespace {

// Clients read completions as they are computed, but not embeddings. So embeddings get one part of the time for every
// two parts of steps.
constexpr int kStepsPerEmbedding = 2;

}  // namespace

Engine::~Engine() { close(); }

EngineStats Engine::stats() const {
    const Clock::rep began = step_began_.load(std::memory_order_relaxed);
    const std::lock_guard<std::mutex> lock(stats_mutex_);
    EngineStats stats = stats_;
    if (began != 0) {
        const Clock::duration age = Clock::now().time_since_epoch() - Clock::duration(began);
        stats.step_age_ms         = std::chrono::duration<double, std::milli>(age).count();
    }
    return stats;
}

PreparedPrompt Engine::tokenize_prompt(const std::string&                                     prompt,
                                       const std::vector<std::shared_ptr<const ImageSource>>& images) const {
    check_generates();
    if (images.empty()) return {preparer_.tokenize_prompt(prompt, context_length_), nullptr};
    preparer_.check_length(prompt, context_length_);
    if (!vision_) throw Error(ErrorCode::image_not_supported, "The model was loaded without a projector.");
    return vision_->prepare(tokenizer_.control_tokens().split(prompt), images);
}

void Engine::check_generates() const {
    if (generates()) return;
    throw Error(ErrorCode::model_not_capable,
                "This model (" + model_.description() + ") only encodes text: it embeds or ranks, but generates none.");
}

void Engine::check_token(TokenId token, const char* where) const {
    if (tokenizer_.is_valid(token)) return;
    throw Error(ErrorCode::invalid_job, std::string(where) + " holds token " + std::to_string(token) +
                                            ", but the vocabulary goes from 0 to " +
                                            std::to_string(tokenizer_.vocabulary_size() - 1) + ".");
}

void Engine::check_prompt(const Job& job) const {
    if (job.prompt.empty()) throw Error(ErrorCode::invalid_job, "The prompt is empty.");
    for (size_t at = 0; at < job.prompt.size(); ++at) {
        if (!job.media || job.media->chunk_at(at) == nullptr) check_token(job.prompt[at], "The prompt");
    }
    if (job.prompt.size() >= context_length_) refuse_length(job.prompt.size());
    if (!job.media) return;
    for (const ImageChunk& chunk : job.media->chunks) {
        if (!chunk.is_indivisible || chunk.n_tokens <= decoder_.n_ubatch()) continue;
        throw Error(ErrorCode::invalid_image,
                    "The image takes " + std::to_string(chunk.n_tokens) + " tokens, but this model has to compute an " +
                        "image in one piece, and at most " + std::to_string(decoder_.n_ubatch()) + " fit.",
                    chunk.image);
    }
}

void Engine::refuse_length(size_t n_tokens) const {
    throw LengthError("The prompt has " + std::to_string(n_tokens) + " tokens, but the context holds " +
                          std::to_string(context_length_) +
                          " for prompt and completion together. Shorten the prompt or load the model with a larger " +
                          (context_length_ < decoder_.context_length() ? "`kvBudgetMiB`." : "`contextSize`."),
                      n_tokens, context_length_);
}

void Engine::submit(Job job) {
    check_generates();
    check_prompt(job);
    for (const AdapterUse& use : job.adapters) {
        if (use.adapter >= adapters_.size()) throw Error(ErrorCode::invalid_job, "The model has no such adapter.");
    }
    if (job.media && job.prompt_logprobs >= 0) {
        throw Error(ErrorCode::invalid_job, "The log-probabilities of a prompt with images are not available.");
    }
    for (const LogitBias& each : job.sampling.logit_bias) check_token(each.token, "logit_bias");
    SamplingSettings& sampling = job.sampling;
    if (Repetitions::is_on(sampling)) sampling.dry_breakers = breakers_.find(sampling.dry_breaker_texts);
    if (job.ignore_eos) {
        job.sampling.banned_ends = tokenizer_.end_of_generation_tokens();
    }
    if (job.reasoning_limit) {
        for (const TokenId token : job.reasoning_limit->message) check_token(token, "The message that ends reasoning");
        job.reasoning_budget = reasoning_budget(*job.reasoning_limit, tokenizer_);
    }
    for (const std::string& name : job.preserved_tokens) {
        const std::vector<TokenId> tokens = tokenizer_.tokenize(name, false, true);
        if (tokens.size() == 1) job.preserved_pieces[tokens[0]] = name;
    }
    if (decoder_.truncation() != Truncation::anywhere) {
        job.snapshot_at = snapshot_points(tokenizer_.message_starts(job.prompt), job.prompt.size());
    }
    mailbox_.put(std::make_unique<Sequence>(std::move(job), n_draft_max_));
}

void Engine::embed(std::shared_ptr<EmbedRequest> request) {
    const std::shared_ptr<const Media> media  = request->media;
    const std::weak_ptr<EmbedRequest>  wanted = request;
    for (const std::vector<TokenId>& input : request->inputs) {
        for (size_t at = 0; at < input.size(); ++at) {
            if (!media || media->chunk_at(at) == nullptr) check_token(input[at], "An input");
        }
    }
    embedder_.submit(std::move(request));
    if (media) mailbox_.put(EmbedImages{wanted});
}

std::string_view Engine::piece(const Job& job, TokenId token) const {
    const auto preserved = job.preserved_pieces.find(token);
    return preserved == job.preserved_pieces.end() ? tokenizer_.piece(token) : preserved->second;
}

void Engine::cancel(uint32_t job_id) { mailbox_.put(Cancel{job_id}); }

void Engine::finish(uint32_t job_id) { mailbox_.put(FinishJob{job_id}); }

void Engine::end_reasoning(uint32_t job_id) { mailbox_.put(EndReasoning{job_id}); }

void Engine::pause(uint32_t job_id, bool paused) { mailbox_.put(Pause{job_id, paused}); }

bool Engine::close() {
    embedder_.close();
    const std::lock_guard<std::mutex> lock(close_mutex_);
    if (!thread_.joinable()) return disk_ended_;
    decoder_.abort();
    drafter_.abort();
    mailbox_.put(Close{});
    if (image_encoder_) image_encoder_->stop();
    thread_.join();
    slow_samples_.close();
    return disk_ended_;
}

void Engine::run() noexcept {
    while (!closing_) {
        try {
            receive();
            step_began_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
            step();
        } catch (const std::bad_alloc&) {
            fail_all(ErrorCode::out_of_memory, "There is not enough memory.");
        } catch (const std::exception& error) {
            fail_all(ErrorCode::decode_failed, std::string("The engine failed: ") + error.what());
        }
        // On an asynchronous device the next step, if any, publishes while the device computes.
        if (!decoder_.is_asynchronous() || !has_work_ || closing_) publish();
        step_began_.store(0, std::memory_order_relaxed);
    }
    save_all_to_disk();
}

void Engine::step() {
    Plan plan = scheduler_.plan(Clock::now());
    has_work_ = !plan.rows.empty();
    // A sequence with a cached image can be planned at once.
    if (image_encoder_ && image_encoder_->request_embeddings(plan.pending_images)) has_work_ = true;

    if (plan.rows.empty()) return compute(plan);
    pause_encoders();
    const auto started = Clock::now();
    try {
        compute(plan);
    } catch (...) {
        resume_encoders(started);
        throw;
    }
    resume_encoders(started);
}

void Engine::compute(Plan& plan) {
    if (decoder_.is_asynchronous() && !plan.placements.empty()) publish();  // moving cells may take long
    place(plan);
    drafter_.add_drafts(plan);
    if (!submit(plan)) return;
    if (decoder_.is_asynchronous()) publish();
    if (finish(plan)) sample(plan);
}

// The encoders use the same cores as the step.
void Engine::pause_encoders() {
    if (vision_ && vision_->can_yield()) image_encoder_->pause();
    if (embedder_.can_yield()) embedder_.pause();
}

void Engine::resume_encoders(Clock::time_point step_started) {
    const Clock::duration                           took = Clock::now() - step_started;
    const std::chrono::duration<double, std::milli> step(took);
    const std::chrono::duration<double, std::milli> images(scheduler_.encoding_ms(step.count()));
    if (vision_ && vision_->can_yield()) image_encoder_->resume_for(std::chrono::duration_cast<Clock::duration>(images));
    if (embedder_.can_yield()) embedder_.resume_for(took / kStepsPerEmbedding);
}

// Handles the queued commands. While idle, blocks until a command arrives or a wait for the disk times out, then waits
// for the batching delay so that others can join the first step.
void Engine::receive() {
    const bool           was_idle = scheduler_.idle();
    const auto           until    = has_work_ ? std::nullopt : state_waits_.until();
    std::vector<Command> commands = until ? mailbox_.take_for(*until - Clock::now()) : mailbox_.take(!has_work_);
    const auto           started  = Clock::now();
    std::exception_ptr   failure;
    while (!commands.empty()) {
        for (Command& command : commands) {
            try {
                handle(std::move(command));
            } catch (...) {
                failure = std::current_exception();  // still handles the remaining commands
            }
        }
        if (!was_idle || closing_) break;
        commands = mailbox_.take_for(scheduler_.batching_delay() - (Clock::now() - started));
    }
    resume_overdue();
    if (closing_) fail_all(ErrorCode::engine_closed, "The engine was closed.", false);
    if (failure) std::rethrow_exception(failure);
}

void Engine::handle(Command command) {
    if (auto* submitted = std::get_if<std::unique_ptr<Sequence>>(&command)) {
        fetch_state(**submitted);
        scheduler_.submit(std::move(*submitted));
    } else if (const auto* cancelled = std::get_if<Cancel>(&command)) {
        if (Sequence* sequence = scheduler_.find(cancelled->job_id)) {
            sequence->status = SequenceStatus::cancelled;
            ++counts_.jobs_cancelled;
            end(sequence);
        }
    } else if (const auto* finished = std::get_if<FinishJob>(&command)) {
        if (Sequence* sequence = scheduler_.find(finished->job_id)) sequence->ends_next = true;
    } else if (const auto* reasoning = std::get_if<EndReasoning>(&command)) {
        if (Sequence* sequence = scheduler_.find(reasoning->job_id)) sequence->end_reasoning();
    } else if (const auto* pause = std::get_if<Pause>(&command)) {
        if (Sequence* sequence = scheduler_.find(pause->job_id)) scheduler_.pause(*sequence, pause->paused);
    } else if (const auto* result = std::get_if<EncodeResult>(&command)) {
        handle(*result);
    } else if (const auto* wanted = std::get_if<EmbedImages>(&command)) {
        handle(*wanted);
    } else if (auto* sampled = std::get_if<std::unique_ptr<SlowSample>>(&command)) {
        handle(std::move(*sampled));
    } else if (auto* fetched = std::get_if<FetchedState>(&command)) {
        handle(std::move(*fetched));
    } else {
        closing_ = true;
    }
}

// A token of the slow sampler. Its job may have ended.
void Engine::handle(std::unique_ptr<SlowSample> sample) {
    Sequence* sequence = scheduler_.find(sample->job_id);
    if (sequence == nullptr) return;
    sequence->sampler = std::move(sample->sampler);
    if (sequence->ends_reasoning) sequence->end_reasoning();
    if (sample->failure) return fail(sequence, *std::move(sample->failure), false);
    ++counts_.sampled_aside;
    sequence->sampling_pace.observe(sample->milliseconds, sampling_share_ms_);
    emit(*sequence, accept(*sequence, sample->token, std::move(sample->logprobs)), true);
    if (is_over(sequence->status)) end(sequence);
}

void Engine::handle(const EncodeResult& result) {
    counts_.images_encoded += result.embeddings ? 1 : 0;
    for (const PendingImage& failed : image_encoder_->deliver(result, scheduler_.all())) {
        fail(failed.sequence, {result.failure->code, result.failure->message, failed.image});
    }
}

void Engine::handle(const EmbedImages& wanted) {
    const std::shared_ptr<EmbedRequest> request = wanted.request.lock();
    if (!request) return;
    for (const PromptImage& image : request->media->images) {
        if (auto cached = image_encoder_->request(image, request)) embedder_.deliver({image.digest, std::move(cached), {}});
    }
}

// Loads the cached prefixes into the slots of the admitted sequences.
void Engine::place(Plan& plan) {
    for (const Placement& placement : plan.placements) {
        if (!decoder_.place(placement)) {
            discard_state(placement);
            scheduler_.placement_failed(placement.slot, plan);
        }
        save_to_disk(placement.save_as);
    }
}

// False if there is nothing to compute or the step failed.
bool Engine::submit(const Plan& plan) {
    if (plan.rows.empty()) return false;
    submitted_ = Clock::now();
    return attempt(plan, [&] { decoder_.submit(plan.rows); });
}

// Waits for the device. False if the step failed.
bool Engine::finish(const Plan& plan) {
    return attempt(plan, [&] {
        decoder_.finish(plan.rows);
        const std::chrono::duration<double, std::milli> took = Clock::now() - submitted_;
        set_sampling_share(took.count());
        drafter_.computed(plan, took.count());
        for (const Snapshot& snapshot : scheduler_.computed(plan, took.count())) decoder_.save(snapshot);
        ++counts_.decode_steps;
        counts_.busy_slots += plan.rows.size();
        for (const PlanRow& row : plan.rows) counts_.drafts += row.draft.empty() ? 0 : 1;
        counts_.decode_passes = decoder_.n_passes();
        counts_.step_ms += took.count();
        report_progress(plan);
    });
}

// False if `part` threw; then all sequences of the plan have failed.
template <typename Part>
bool Engine::attempt(const Plan& plan, const Part& part) {
    try {
        part();
        return true;
    } catch (const std::exception& error) {
        for (const PlanRow& row : plan.rows) fail(row.sequence, Failure::of(error));
    }
    return false;
}

// Reports the cached tokens with the first step of a prompt, then the computed ones. The end of a prompt is reported by
// its first sampled token.
void Engine::report_progress(const Plan& plan) {
    for (const PlanRow& row : plan.rows) {
        const Sequence& sequence = *row.sequence;
        if (sequence.n_sampled() > 0) continue;
        const bool is_first = sequence.n_computed == sequence.n_cached() + row.n_tokens;
        if (is_first) outbox_.add_progress(sequence.id(), sequence.n_cached());
        if (sequence.n_pending() > 0) outbox_.add_progress(sequence.id(), sequence.n_computed);
    }
}

void Engine::end(Sequence* sequence, bool cells_invalid) {
    if (sequence->sampler == nullptr) slow_samples_.cancel(sequence->id());
    // The cache ignores such cells, so they must not occupy memory.
    if (cells_invalid && sequence->slot != Sequence::kNoSlot) decoder_.trim(sequence->slot, 0);
    scheduler_.remove(sequence, cells_invalid);
}

void Engine::fail(Sequence* sequence, Failure failure, bool cells_invalid) {
    sequence->status = SequenceStatus::failed;
    outbox_.add_failure(sequence->id(), std::move(failure));
    end(sequence, cells_invalid);
}

void Engine::fail_all(ErrorCode code, const std::string& message, bool cells_invalid) {
    for (Sequence* sequence : scheduler_.all()) fail(sequence, {code, message}, cells_invalid);
}

void Engine::count() {
    EngineStats stats     = counts_;
    stats.active          = scheduler_.n_running();
    stats.queued          = scheduler_.n_waiting();
    stats.preemptions     = scheduler_.n_preemptions();
    stats.kv_cells_total  = n_cells();
    stats.kv_cells_used   = scheduler_.cache().n_tokens_in_use();
    stats.kv_cells_cached = scheduler_.cache().n_slot_tokens() - stats.kv_cells_used;
    const std::lock_guard<std::mutex> lock(stats_mutex_);
    stats_ = stats;
}

void Engine::publish() {
    count();
    outbox_.publish();
}

}  // namespace chasqui
