#include "engine-wrap.h"

#include "../llama/chat/special-prompts.h"
#include "addon-state.h"
#include "call-values.h"
#include "embed-call.h"
#include "error.h"
#include "from-js.h"
#include "images-from-js.h"
#include "offload-values.h"
#include "preparer-to-js.h"

#include <utility>

namespace chasqui {

namespace {

// Closes and releases an engine on Node's thread pool: joining its thread takes as long as a step.
class CloseWorker : public Napi::AsyncWorker {
public:
    CloseWorker(Napi::Env env, std::shared_ptr<Engine> engine, std::shared_ptr<Preparation> preparation,
                std::shared_ptr<Closing> closing)
        : AsyncWorker(env),
          engine_(std::move(engine)),
          preparation_(std::move(preparation)),
          closing_(std::move(closing)),
          deferred_(env) {}

    Napi::Promise promise() const { return deferred_.Promise(); }

private:
    void Execute() override {
        const bool all_ended = preparation_->pool.close();
        if (!engine_->close()) AddonState::has_stuck_work = true;
        engine_.reset();
        closing_->has_stuck_work = !all_ended;
    }
    void OnOK() override { deferred_.Resolve(Env().Undefined()); }

    std::shared_ptr<Engine>      engine_;
    std::shared_ptr<Preparation> preparation_;
    std::shared_ptr<Closing>     closing_;
    Napi::Promise::Deferred      deferred_;
};

// `media` is an opaque value for JavaScript.
Napi::Value prepared_to_js(Napi::Env env, const PreparedPrompt& prepared) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("tokens", tokens_to_js(env, prepared.tokens));
    result.Set("media", media_to_js(env, prepared.media));
    return result;
}

uint32_t job_id_argument(const Napi::CallbackInfo& call) { return argument<uint32_t>(call, 0, "jobId"); }

}  // namespace

Napi::Function EngineWrap::define(Napi::Env env) {
    return DefineClass(env, "Engine",
                       {InstanceMethod<&EngineWrap::info>("info"),
                        InstanceMethod<&EngineWrap::tokenize_prompt>("tokenizePrompt"),
                        InstanceMethod<&EngineWrap::embed>("embed"),
                        InstanceMethod<&EngineWrap::cancel_embed>("cancelEmbed"),
                        InstanceMethod<&EngineWrap::submit>("submit"), InstanceMethod<&EngineWrap::pause>("pause"),
                        InstanceMethod<&EngineWrap::cancel>("cancel"), InstanceMethod<&EngineWrap::finish>("finish"),
                        InstanceMethod<&EngineWrap::end_reasoning>("endReasoning"),
                        InstanceMethod<&EngineWrap::stats>("stats"), InstanceMethod<&EngineWrap::close>("close")});
}

Napi::Object EngineWrap::wrap(Napi::Env env, std::shared_ptr<Engine> engine, Napi::Function on_events,
                              const PreparePool::Options& preparation) {
    AddonState&  state  = AddonState::of(env);
    Napi::Object object = state.engine_constructor.New({});
    EngineWrap*  self   = Unwrap(object);
    self->pump_         = std::make_unique<EventPump>(env, on_events, engine);
    // Keeps the engine alive while anything is being prepared.
    auto preparer       = std::shared_ptr<Preparer>(engine, &engine->preparer());
    self->preparation_  = std::make_shared<Preparation>(std::move(preparer), preparation);
    self->engine_       = std::move(engine);
    object.Set("preparer", preparer_to_js(env, self->preparation_));
    state.engines.insert(self);
    return object;
}

EngineWrap::EngineWrap(const Napi::CallbackInfo& info)
    : ObjectWrap<EngineWrap>(info), state_(&AddonState::of(info.Env())) {}

EngineWrap::~EngineWrap() { shutdown(); }

void EngineWrap::shutdown() {
    if (!engine_) return;
    // Preparation releases the engine when it ends; work that does not end keeps it.
    if (!preparation_->pool.close()) AddonState::has_stuck_work = true;
    if (!engine_->close()) AddonState::has_stuck_work = true;
    pump_->stop();
    release();
}

void EngineWrap::release() {
    state_->engines.erase(this);
    pump_.reset();
    // JavaScript may keep its preparer object.
    preparation_->preparer.reset();
    preparation_.reset();
    engine_.reset();
}

const std::shared_ptr<Engine>& EngineWrap::engine(Napi::Env env) const {
    if (!engine_) throw to_js_error(env, {ErrorCode::engine_closed, "The engine was closed."});
    return engine_;
}

Napi::Value EngineWrap::info(const Napi::CallbackInfo& call) {
    const Napi::Env env    = call.Env();
    Engine&         engine = *this->engine(env);
    const Model&    model  = engine.model();
    Napi::Object    result = Napi::Object::New(env);
    result.Set("description", model.description());
    result.Set("sizeBytes", static_cast<double>(model.size_bytes()));
    result.Set("parameterCount", static_cast<double>(model.parameter_count()));
    result.Set("vocabularySize", model.vocabulary_size());
    const auto& end_tokens = engine.preparer().tokenizer().end_of_generation_tokens();
    result.Set("endTokens", array_to_js(env, end_tokens, [](TokenId token) { return token; }));
    result.Set("trainedContextLength", model.trained_context_length());
    result.Set("contextLength", engine.context_length());
    result.Set("kvCells", static_cast<double>(engine.n_cells()));
    result.Set("parallel", engine.n_slots());
    result.Set("hasChatTemplate", Napi::Boolean::New(env, model.has_chat_template()));
    const Vision* vision = engine.vision();
    result.Set("vision", Napi::Boolean::New(env, vision != nullptr && vision->sees()));
    result.Set("audioSampleRate", vision == nullptr ? 0 : vision->sample_rate());
    result.Set("imageMarker", vision == nullptr ? env.Null() : Napi::String::New(env, vision->marker()));
    result.Set("quantization", model.quantization());
    result.Set("vocabularyType", model.vocabulary_type());
    result.Set("generates", Napi::Boolean::New(env, engine.generates()));
    result.Set("batchInvariant", Napi::Boolean::New(env, engine.batch_invariant()));
    result.Set("infills", Napi::Boolean::New(env, engine.generates() && can_infill(model)));
    result.Set("pooling", to_string(engine.embedder().pooling()));
    result.Set("vectorLength", model.embedding_length());
    result.Set("embeddingContextLength", engine.embedder().context_length());
    result.Set("takesTools", Napi::Boolean::New(env, engine.chat_template().capabilities().tools));
    result.Set("genericTools", Napi::Boolean::New(env, engine.chat_template().capabilities().generic_tools));
    result.Set("placement", offload_report_to_js(env, model));
    result.Set("reasons", Napi::Boolean::New(env, engine.chat_template().capabilities().reasoning));
    return result;
}

Napi::Value EngineWrap::tokenize_prompt(const Napi::CallbackInfo& call) {
    const std::shared_ptr<Engine>& engine = this->engine(call.Env());
    const Purpose                  purpose{argument<uint32_t>(call, 2, "owner"), "Tokenizing the prompt"};
    return PoolTask<PreparedPrompt, Engine>::start(
        call.Env(), *preparation_, engine, purpose,
        [prompt = argument<std::string>(call, 0, "prompt"), images = images_from_js(call[1])](Engine& each) {
            return each.tokenize_prompt(prompt, images);
        },
        prepared_to_js);
}

Napi::Value EngineWrap::embed(const Napi::CallbackInfo& call) { return embed_call(call, *engine(call.Env())); }

void EngineWrap::cancel_embed(const Napi::CallbackInfo& call) {
    if (engine_) engine_->embedder().cancel(job_id_argument(call));
}

void EngineWrap::submit(const Napi::CallbackInfo& call) {
    guarded(call.Env(), [&] {
        const std::shared_ptr<Engine>& engine = this->engine(call.Env());
        Job                            job    = job_from_js(call[0]);
        const uint32_t                 id     = job.id;
        job.constraint                        = take_constraint(call[1]);
        engine->submit(std::move(job));
        pump_->job_started(call.Env(), id);
    });
}

void EngineWrap::finish(const Napi::CallbackInfo& call) {
    guarded(call.Env(), [&] {
        if (engine_) engine_->finish(job_id_argument(call));
    });
}

void EngineWrap::end_reasoning(const Napi::CallbackInfo& call) {
    guarded(call.Env(), [&] {
        if (engine_) engine_->end_reasoning(job_id_argument(call));
    });
}

void EngineWrap::pause(const Napi::CallbackInfo& call) {
    guarded(call.Env(), [&] {
        if (engine_) engine_->pause(job_id_argument(call), call[1].ToBoolean());
    });
}

void EngineWrap::cancel(const Napi::CallbackInfo& call) {
    guarded(call.Env(), [&] {
        if (!engine_) return;
        const uint32_t id = job_id_argument(call);
        engine_->cancel(id);
        pump_->job_ended(call.Env(), id);
    });
}

Napi::Value EngineWrap::stats(const Napi::CallbackInfo& call) {
    const Napi::Env   env   = call.Env();
    const EngineStats stats = engine(env)->stats();
    const auto        count = [&](uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); };
    Napi::Object      result = Napi::Object::New(env);
    result.Set("active", count(stats.active));
    result.Set("queued", count(stats.queued));
    result.Set("kvCellsUsed", count(stats.kv_cells_used));
    result.Set("kvCellsCached", count(stats.kv_cells_cached));
    result.Set("kvCellsTotal", count(stats.kv_cells_total));
    result.Set("jobsFinished", count(stats.jobs_finished));
    result.Set("jobsCancelled", count(stats.jobs_cancelled));
    result.Set("promptTokens", count(stats.prompt_tokens));
    result.Set("completionTokens", count(stats.completion_tokens));
    result.Set("drafts", count(stats.drafts));
    result.Set("draftedTokens", count(stats.drafted_tokens));
    result.Set("acceptedTokens", count(stats.accepted_tokens));
    result.Set("decodeSteps", count(stats.decode_steps));
    result.Set("busySlots", count(stats.busy_slots));
    result.Set("decodePasses", count(stats.decode_passes));
    result.Set("stepMs", stats.step_ms);
    result.Set("preemptions", count(stats.preemptions));
    result.Set("imagesEncoded", count(stats.images_encoded));
    result.Set("sampledAside", count(stats.sampled_aside));
    result.Set("stepAgeMs", stats.step_age_ms);
    result.Set("embeddedTokens", count(engine(env)->embedder().n_tokens()));
    result.Set("embeddingSteps", count(engine(env)->embedder().n_steps()));
    return result;
}

// Resolves when the thread has ended and all memory is freed.
Napi::Value EngineWrap::close(const Napi::CallbackInfo& call) {
    if (!engine_) {
        const auto deferred = Napi::Promise::Deferred::New(call.Env());
        deferred.Resolve(call.Env().Undefined());
        return deferred.Promise();
    }
    pump_->stop();
    state_->closing.push_back(std::make_shared<Closing>(engine_));
    // Deletes itself.
    auto* const         worker  = new CloseWorker(call.Env(), engine_, preparation_, state_->closing.back());
    const Napi::Promise promise = worker->promise();
    release();
    worker->Queue();
    return promise;
}

}  // namespace chasqui
