#include "engine-wrap.h"

#include "../llama/special-prompts.h"
#include "addon-state.h"
#include "chat-values.h"
#include "embed-call.h"
#include "error.h"
#include "from-js.h"
#include "images-from-js.h"
#include "offload-values.h"
#include "pool-task.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

// Closes and releases an engine on Node's thread pool, because joining its thread takes as long as a step.
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
        engine_->close();
        engine_.reset();
        closing_->leaves_work_behind = !all_ended;
    }
    void OnOK() override { deferred_.Resolve(Env().Undefined()); }

    std::shared_ptr<Engine>      engine_;
    std::shared_ptr<Preparation> preparation_;
    std::shared_ptr<Closing>     closing_;
    Napi::Promise::Deferred      deferred_;
};

std::string string_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsString()) throw Napi::TypeError::New(call.Env(), std::string(name) + " must be a string.");
    return call[index].As<Napi::String>().Utf8Value();
}

using Constraint = std::shared_ptr<TokenConstraint>;

// A constraint follows one text, so submit() moves it out of its JavaScript value.
Napi::Value constraints_to_js(Napi::Env env, const std::vector<Constraint>& constraints) {
    Napi::Array result = Napi::Array::New(env, constraints.size());
    for (uint32_t i = 0; i < constraints.size(); ++i) {
        result.Set(i, Napi::External<Constraint>::New(env, new Constraint(constraints[i]),
                                                      [](Napi::Env, Constraint* held) { delete held; }));
    }
    return result;
}

Constraint take_constraint(const Napi::Value& value) {
    if (value.IsUndefined() || value.IsNull()) return nullptr;
    if (!value.IsExternal()) throw Napi::TypeError::New(value.Env(), "constraint must come from compileGrammar.");
    Constraint taken = std::move(*value.As<Napi::External<Constraint>>().Data());
    if (!taken) throw Napi::TypeError::New(value.Env(), "constraint was submitted before.");
    return taken;
}

uint32_t number_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsNumber()) throw Napi::TypeError::New(call.Env(), std::string(name) + " must be a number.");
    return call[index].As<Napi::Number>().Uint32Value();
}

// The bytes of all tokens, concatenated, and where each token's end.
struct Pieces {
    std::string          bytes;
    std::vector<int32_t> ends;
};

Pieces spell(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
    Pieces pieces;
    for (const TokenId token : tokens) {
        PreparePool::check();
        if (!tokenizer.is_valid(token)) throw Error(ErrorCode::invalid_job, "A token is outside the vocabulary.");
        pieces.bytes += tokenizer.spelled(token);
        pieces.ends.push_back(static_cast<int32_t>(pieces.bytes.size()));
    }
    return pieces;
}

Napi::Value tokens_to_js(Napi::Env env, const std::vector<TokenId>& tokens) {
    Napi::Int32Array result = Napi::Int32Array::New(env, tokens.size());
    std::copy(tokens.begin(), tokens.end(), result.Data());
    return result;
}

// `media` is an opaque value, which JavaScript keeps and hands back.
Napi::Value prepared_to_js(Napi::Env env, const PreparedPrompt& prepared) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("tokens", tokens_to_js(env, prepared.tokens));
    result.Set("media", media_to_js(env, prepared.media));
    return result;
}

Napi::Value pieces_to_js(Napi::Env env, const Pieces& pieces) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("bytes", Napi::Buffer<char>::Copy(env, pieces.bytes.data(), pieces.bytes.size()));
    result.Set("ends", tokens_to_js(env, pieces.ends));
    return result;
}

Napi::Value token_lists_to_js(Napi::Env env, const TokenLists& lists) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("tokens", tokens_to_js(env, lists.tokens));
    result.Set("lengths", tokens_to_js(env, lists.lengths));
    return result;
}

std::vector<std::string> texts_argument(const Napi::CallbackInfo& call, size_t index, const char* name) {
    if (!call[index].IsArray()) throw Napi::TypeError::New(call.Env(), std::string(name) + " must be an array.");
    const auto               array = call[index].As<Napi::Array>();
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < array.Length(); ++i) texts.push_back(array.Get(i).ToString());
    return texts;
}

uint32_t job_id_argument(const Napi::CallbackInfo& call) { return number_argument(call, 0, "jobId"); }

}  // namespace

Napi::Function EngineWrap::define(Napi::Env env) {
    return DefineClass(env, "Engine",
                       {InstanceMethod<&EngineWrap::info>("info"), InstanceMethod<&EngineWrap::render>("render"),
                        InstanceMethod<&EngineWrap::tokenize>("tokenize"),
                        InstanceMethod<&EngineWrap::tokenize_prompt>("tokenizePrompt"),
                        InstanceMethod<&EngineWrap::tokenize_infill>("tokenizeInfill"),
                        InstanceMethod<&EngineWrap::tokenize_inputs>("tokenizeInputs"),
                        InstanceMethod<&EngineWrap::tokenize_pairs>("tokenizePairs"),
                        InstanceMethod<&EngineWrap::pieces>("pieces"), InstanceMethod<&EngineWrap::embed>("embed"),
                        InstanceMethod<&EngineWrap::cancel_embed>("cancelEmbed"),
                        InstanceMethod<&EngineWrap::compile_grammar>("compileGrammar"),
                        InstanceMethod<&EngineWrap::cancel_preparation>("cancelPreparation"),
                        InstanceMethod<&EngineWrap::submit>("submit"), InstanceMethod<&EngineWrap::pause>("pause"),
                        InstanceMethod<&EngineWrap::cancel>("cancel"),
                        InstanceMethod<&EngineWrap::stats>("stats"), InstanceMethod<&EngineWrap::close>("close")});
}

Napi::Object EngineWrap::wrap(Napi::Env env, std::shared_ptr<Engine> engine, Napi::Function on_events,
                              const PreparePool::Options& preparation) {
    AddonState&  state  = AddonState::of(env);
    Napi::Object object = state.engine_constructor.New({});
    EngineWrap*  self   = Unwrap(object);
    self->pump_         = std::make_unique<EventPump>(env, on_events, engine);
    self->preparation_  = std::make_shared<Preparation>(preparation);
    self->engine_       = std::move(engine);
    state.engines.insert(self);
    return object;
}

EngineWrap::EngineWrap(const Napi::CallbackInfo& info)
    : ObjectWrap<EngineWrap>(info), state_(&AddonState::of(info.Env())) {}

EngineWrap::~EngineWrap() { shutdown(); }

void EngineWrap::shutdown() {
    if (!engine_) return;
    // Preparation releases the engine as it ends; work that does not end keeps it.
    if (!preparation_->pool.close()) AddonState::leaves_work_behind = true;
    engine_->close();
    pump_->stop();
    release();
}

void EngineWrap::release() {
    state_->engines.erase(this);
    pump_.reset();
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
    result.Set("trainedContextLength", model.trained_context_length());
    result.Set("contextLength", engine.context_length());
    result.Set("kvCells", static_cast<double>(engine.n_cells()));
    result.Set("parallel", engine.n_slots());
    result.Set("hasChatTemplate", Napi::Boolean::New(env, model.has_chat_template()));
    result.Set("vision", Napi::Boolean::New(env, engine.vision() != nullptr));
    const Vision* vision = engine.vision();
    result.Set("imageMarker", vision == nullptr ? env.Null() : Napi::String::New(env, vision->marker()));
    result.Set("quantization", model.quantization());
    result.Set("vocabularyType", model.vocabulary_type());
    result.Set("generates", Napi::Boolean::New(env, engine.generates()));
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

template <typename Result>
Napi::Value EngineWrap::prepare(Napi::Env env, Purpose purpose, typename PoolTask<Result>::Work work,
                                typename PoolTask<Result>::ToJs to_js) {
    return PoolTask<Result>::start(env, *preparation_, engine(env), purpose, std::move(work), std::move(to_js));
}

Napi::Value EngineWrap::render(const Napi::CallbackInfo& call) {
    return prepare<RenderedPrompt>(
        call.Env(), {number_argument(call, 1, "owner"), "Rendering the conversation by the model's chat template"},
        [request = string_argument(call, 0, "requestJson")](Engine& engine) { return engine.chat_template().render(request); }, rendered_to_js);
}

Napi::Value EngineWrap::tokenize(const Napi::CallbackInfo& call) {
    const bool add_special = call[1].ToBoolean(), parse_special = call[2].ToBoolean();
    return prepare<std::vector<TokenId>>(
        call.Env(), {number_argument(call, 3, "owner"), "Tokenizing the text"},
        [text = string_argument(call, 0, "text"), add_special, parse_special](Engine& engine) {
            return engine.tokenizer().tokenize(text, add_special, parse_special);
        },
        tokens_to_js);
}

Napi::Value EngineWrap::tokenize_prompt(const Napi::CallbackInfo& call) {
    return prepare<PreparedPrompt>(
        call.Env(), {number_argument(call, 2, "owner"), "Tokenizing the prompt"},
        [prompt = string_argument(call, 0, "prompt"), images = images_from_js(call[1])](Engine& engine) {
            return engine.tokenize_prompt(prompt, images);
        },
        prepared_to_js);
}

Napi::Value EngineWrap::tokenize_infill(const Napi::CallbackInfo& call) {
    return prepare<std::vector<TokenId>>(
        call.Env(), {number_argument(call, 2, "owner"), "Tokenizing the prompt"},
        [prefix = string_argument(call, 0, "prefix"), suffix = string_argument(call, 1, "suffix")](Engine& engine) {
            return infill_prompt(engine.model(), engine.tokenizer(), prefix, suffix);
        },
        tokens_to_js);
}

Napi::Value EngineWrap::tokenize_inputs(const Napi::CallbackInfo& call) {
    const uint32_t max_tokens = number_argument(call, 1, "most");
    return prepare<TokenLists>(
        call.Env(), {number_argument(call, 2, "owner"), "Tokenizing the texts"},
        [texts = texts_argument(call, 0, "texts"), max_tokens](Engine& engine) {
            const Tokenizer& tokenizer = engine.tokenizer();
            TokenLists       lists;
            for (const std::string& text : texts) {
                PreparePool::check();
                const auto tokenize = [&] { return tokenizer.tokenize(text, true, true); };
                if (!lists.add(tokenizer.min_tokens(text.size()), max_tokens, tokenize)) break;
            }
            return lists;
        },
        token_lists_to_js);
}

Napi::Value EngineWrap::tokenize_pairs(const Napi::CallbackInfo& call) {
    const uint32_t max_tokens = number_argument(call, 2, "most");
    return prepare<TokenLists>(
        call.Env(), {number_argument(call, 3, "owner"), "Tokenizing the documents"},
        [query = string_argument(call, 0, "query"), documents = texts_argument(call, 1, "documents"),
         max_tokens](Engine& engine) {
            TokenLists lists;
            for (const std::string& document : documents) {
                PreparePool::check();
                const size_t min_tokens = engine.tokenizer().min_tokens(query.size() + document.size());
                const auto   tokenize = [&] { return ranking_prompt(engine.model(), engine.tokenizer(), query, document); };
                if (!lists.add(min_tokens, max_tokens, tokenize)) break;
            }
            return lists;
        },
        token_lists_to_js);
}

Napi::Value EngineWrap::pieces(const Napi::CallbackInfo& call) {
    if (!call[0].IsTypedArray() || call[0].As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
        throw Napi::TypeError::New(call.Env(), "tokens must be an Int32Array.");
    }
    const auto                 array = call[0].As<Napi::Int32Array>();
    const std::vector<TokenId> tokens(array.Data(), array.Data() + array.ElementLength());
    return prepare<Pieces>(
        call.Env(), {number_argument(call, 1, "owner"), "Spelling the tokens"},
        [tokens](Engine& engine) { return spell(engine.tokenizer(), tokens); }, pieces_to_js);
}

void EngineWrap::cancel_preparation(const Napi::CallbackInfo& call) {
    if (preparation_) preparation_->pool.cancel(number_argument(call, 0, "owner"));
}

Napi::Value EngineWrap::embed(const Napi::CallbackInfo& call) { return embed_call(call, *engine(call.Env())); }

void EngineWrap::cancel_embed(const Napi::CallbackInfo& call) {
    if (engine_) engine_->embedder().cancel(job_id_argument(call));
}

Napi::Value EngineWrap::compile_grammar(const Napi::CallbackInfo& call) {
    const uint32_t n = number_argument(call, 1, "copies");
    return prepare<std::vector<Constraint>>(
        call.Env(), {number_argument(call, 2, "owner"), "Compiling the grammar"},
        [grammar = grammar_from_js(call[0]), n](Engine& engine) { return engine.compile_grammar(grammar, n); },
        constraints_to_js);
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
    result.Set("draftedTokens", count(stats.drafted_tokens));
    result.Set("acceptedTokens", count(stats.accepted_tokens));
    result.Set("decodeSteps", count(stats.decode_steps));
    result.Set("stepMs", stats.step_ms);
    result.Set("preemptions", count(stats.preemptions));
    result.Set("imagesEncoded", count(stats.images_encoded));
    result.Set("sampledAside", count(stats.sampled_aside));
    result.Set("stepAgeMs", stats.step_age_ms);
    result.Set("embeddedTokens", count(engine(env)->embedder().n_tokens()));
    return result;
}

// Resolves when the thread has ended and all memory is free.
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
