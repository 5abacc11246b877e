#include "embedder.h"

#include "../../core/error-code.h"
#include "context-params.h"
#include "../system/log.h"
#include "../images/vision.h"

#include <common.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace chasqui {

namespace {

constexpr uint32_t kMaxSlots = 64;
// A recurrent state takes memory for each slot, used or not.
constexpr uint32_t kMaxRecurrentSlots = 4;

constexpr std::pair<Pooling, const char*> kNames[] = {
    {Pooling::none, "none"}, {Pooling::mean, "mean"}, {Pooling::cls, "cls"}, {Pooling::last, "last"}, {Pooling::rank, "rank"}};

Pooling choose_pooling(const Model& model, const EmbedderOptions& options) {
    if (options.pooling) {
        if (*options.pooling == Pooling::rank && !model.has_ranking_head()) {
            throw Error(ErrorCode::invalid_options,
                        model.path() + " has no head for ranking, so its pooling cannot be `rank`.");
        }
        return *options.pooling;
    }
    const std::string said = model.metadata(".pooling_type");
    if (said == std::to_string(LLAMA_POOLING_TYPE_CLS)) return Pooling::cls;
    if (said == std::to_string(LLAMA_POOLING_TYPE_LAST)) return Pooling::last;
    if (said == std::to_string(LLAMA_POOLING_TYPE_RANK)) return Pooling::rank;
    return Pooling::mean;
}

// At most the trained length: models with learned positions have no more, and llama.cpp would abort.
uint32_t choose_context_length(const Model& model, uint32_t wanted) {
    const auto trained = static_cast<uint32_t>(std::max(1, model.trained_context_length()));
    return std::min(wanted == 0 ? kDefaultContextLength : wanted, trained);
}

enum llama_pooling_type to_llama(Pooling pooling) {
    switch (pooling) {
        case Pooling::none:
            return LLAMA_POOLING_TYPE_NONE;
        case Pooling::mean:
            return LLAMA_POOLING_TYPE_MEAN;
        case Pooling::cls:
            return LLAMA_POOLING_TYPE_CLS;
        case Pooling::last:
            return LLAMA_POOLING_TYPE_LAST;
        case Pooling::rank:
            return LLAMA_POOLING_TYPE_RANK;
    }
    return LLAMA_POOLING_TYPE_MEAN;
}

}  // namespace

const char* to_string(Pooling pooling) {
    for (const auto& [each, name] : kNames) {
        if (each == pooling) return name;
    }
    return "";
}

std::optional<Pooling> pooling_from_string(const std::string& name) {
    for (const auto& [each, its_name] : kNames) {
        if (name == its_name) return each;
    }
    return std::nullopt;
}

void Embedder::FreeContext::operator()(llama_context* context) const { llama_free(context); }

void Embedder::FreeBatch::operator()(llama_batch* batch) const {
    llama_batch_free(*batch);
    delete batch;
}

// An input can be split if attention is causal and the pooling is done here.
Embedder::Embedder(const Model& model, const EmbedderOptions& options)
    : model_(model),
      pooling_(choose_pooling(model, options)),
      is_indivisible_(!options.has_memory || !model.is_causal() || pooling_ == Pooling::rank),
      context_length_(choose_context_length(model, options.context_length)),
      n_batch_(std::max(kMaxSlots, options.n_batch)),
      n_slots_(model.has_recurrent_state() ? kMaxRecurrentSlots : kMaxSlots),
      context_settings_(options.context),
      threads_(options.threads > 0 ? options.threads : common_cpu_get_num_math()),
      can_yield_(options.takes_turns && model.offload().main_device() == nullptr),
      queue_(limits()) {}

Embedder::~Embedder() { close(); }

EmbedLimits Embedder::limits() const {
    return {n_batch_, n_slots_, std::max<size_t>(context_length_, n_batch_), is_indivisible_};
}

size_t Embedder::embedding_length() const {
    if (pooling_ == Pooling::rank) return llama_model_n_cls_out(model_.handle());
    return static_cast<size_t>(llama_model_n_embd_out(model_.handle()));
}

void Embedder::submit(std::shared_ptr<EmbedRequest> request) {
    for (const std::vector<TokenId>& input : request->inputs) {
        if (input.empty()) throw Error(ErrorCode::invalid_job, "An input is empty.");
        if (input.size() > context_length_) {
            throw Error(ErrorCode::context_length_exceeded, "An input has " + std::to_string(input.size()) +
                                                                " tokens, but at most " +
                                                                std::to_string(context_length_) + " can be embedded.");
        }
    }
    if (request->media) check_media(*request);
    request->embeddings.resize(request->inputs.size());
    const std::lock_guard<std::mutex> lock(thread_mutex_);
    if (closed_) throw Error(ErrorCode::engine_closed, "The engine was closed.");
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    if (request->media) ++n_waiting_;
    mailbox_.put(std::move(request));
}

void Embedder::cancel(uint32_t request_id) { mailbox_.put(Cancel{request_id}); }

void Embedder::close() {
    const std::lock_guard<std::mutex> lock(thread_mutex_);
    closed_ = true;
    if (!thread_.joinable()) return;
    aborted_.store(true, std::memory_order_relaxed);
    gate_.stop();
    mailbox_.put(Close{});
    thread_.join();
}

// Low priority: clients read completions while they are computed, but not embeddings.
void Embedder::run() noexcept {
    Vision::lower_priority();
    while (receive()) {
        try {
            step();
        } catch (const std::exception& error) {
            const Failure failure = Failure::of(error);
            for (const auto& request : queue_.all()) fail(*request, failure.code, failure.message);
        }
    }
    for (const auto& request : queue_.all()) fail(*request, ErrorCode::engine_closed, "The engine was closed.");
    for (const auto& request : waiting_) fail(*request, ErrorCode::engine_closed, "The engine was closed.");
}

// Handles the queued commands; blocks while there is nothing to compute. False after a close command.
bool Embedder::receive() {
    for (Command& command : mailbox_.take(queue_.empty())) handle(std::move(command));
    return !closing_;
}

void Embedder::handle(Command command) {
    std::visit(
        [this](auto& each) {
            if constexpr (std::is_same_v<std::decay_t<decltype(each)>, Close>) closing_ = true;
            else handle(std::move(each));
        },
        command);
}

void Embedder::handle(std::shared_ptr<EmbedRequest> request) {
    if (!request->media) return queue_.add(std::move(request));
    request->images.resize(request->media->images.size());
    waiting_.push_back(std::move(request));
}

// A failed step only fails the requests with rows in it.
void Embedder::step() {
    const std::vector<EmbedRow> rows     = queue_.plan();
    try {
        if (!rows.empty()) decode(rows);
    } catch (const std::exception& error) {
        const Failure failure = Failure::of(error);
        for (const EmbedRow& row : rows) fail(*row.request, failure.code, failure.message);
    }
    for (const EmbedRow& row : rows) {
        if (row.is_last) clear(row.slot);
    }
}

void Embedder::create_context() {
    llama_context_params params = llama_context_default_params();
    const uint32_t       n_max  = is_indivisible_ ? std::max(context_length_, n_batch_) : n_batch_;
    params.n_ctx               = (std::max(context_length_, n_batch_) + kCellPadding - 1) / kCellPadding * kCellPadding;
    params.n_batch             = n_max;
    params.n_ubatch            = n_max;
    params.n_seq_max           = n_slots_;
    params.kv_unified          = true;  // inputs of any length share the cells
    params.embeddings          = true;
    params.pooling_type        = is_indivisible_ ? to_llama(pooling_) : LLAMA_POOLING_TYPE_NONE;
    params.n_threads           = threads_;
    params.n_threads_batch     = threads_;
    params.abort_callback      = [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); };
    params.abort_callback_data = &aborted_;
    if (can_yield_) {
        params.cb_eval           = on_operation;
        params.cb_eval_user_data = this;
    }
    context_settings_.apply(params);
    context_.reset(
        open_context(model_.handle(), params, context_settings_, "for embeddings", ErrorCode::model_not_capable));
    // The threads sleep between inputs, so they do not compete with those of the decoder.
    threadpool_ = attach_threadpool(context_.get(), threads_, 0);
    batch_.reset(new llama_batch(llama_batch_init(static_cast<int32_t>(n_max), 0, 1)));
}

void Embedder::decode(const std::vector<EmbedRow>& rows) {
    if (!context_) create_context();
    std::vector<EmbedRow> texts;
    for (const EmbedRow& row : rows) {
        const ImageChunk* chunk = row.chunk();
        if (chunk == nullptr) texts.push_back(row);
        else decode_image(row, *chunk);
    }
    if (!texts.empty()) decode_text(texts);
}

void Embedder::decode_text(const std::vector<EmbedRow>& rows) {
    batch_->n_tokens = 0;
    std::vector<int32_t> first_rows;
    for (const EmbedRow& row : rows) {
        first_rows.push_back(batch_->n_tokens);
        if (static_cast<size_t>(batch_->n_tokens) + row.n_tokens > llama_n_ubatch(context_.get())) {
            throw Error(ErrorCode::decode_failed, "The step is larger than the batch.");
        }
        const Media* media = row.request->media.get();
        for (size_t i = row.begin; i < row.begin + row.n_tokens; ++i) {
            const auto at         = static_cast<size_t>(batch_->n_tokens++);
            batch_->token[at]     = row.request->inputs[row.input][i];
            batch_->pos[at]       = media == nullptr ? static_cast<llama_pos>(i) : media->position(i);
            batch_->n_seq_id[at]  = 1;
            batch_->seq_id[at][0] = row.slot;
            batch_->logits[at]    = true;
        }
    }
    compute(*batch_);
    for (size_t i = 0; i < rows.size(); ++i) collect(rows[i], first_rows[i]);
}

void Embedder::compute(const llama_batch& batch) {
    struct Work {
        EncoderGate& gate;
        ~Work() { gate.work_done(); }
    } work{gate_};
    if (can_yield_) gate_.yield_to_engine();
    take_last_errors();
    const int32_t result = llama_decode(context_.get(), batch);
    if (aborted_) throw Error(ErrorCode::engine_closed, "The engine was closed.");
    if (result != 0) {
        const std::string said = take_last_errors();
        throw Error(failure_code(said, ErrorCode::decode_failed),
                    "llama_decode failed with " + std::to_string(result) + ": " + said);
    }
    llama_synchronize(context_.get());
    // Counted before work_done(), so the counter cannot change after pause() returns.
    n_tokens_.fetch_add(static_cast<uint64_t>(batch.n_tokens), std::memory_order_relaxed);
    n_steps_.fetch_add(1, std::memory_order_relaxed);
}

// See Vision::on_operation().
bool Embedder::on_operation(ggml_tensor* operation, bool ask, void* embedder) {
    if (ask) return Vision::yields_after(*operation);
    return static_cast<Embedder*>(embedder)->gate_.yield_to_engine();
}

void Embedder::collect(const EmbedRow& row, int32_t batch_row) {
    try {
        take_outputs(row, batch_row);
    } catch (const Error& error) {
        fail(*row.request, error.code(), error.what());
    }
}

void Embedder::take_outputs(const EmbedRow& row, int32_t batch_row) {
    EmbedRequest& request = *row.request;
    if (is_indivisible_ && pooling_ != Pooling::none) {
        const float* embedding = llama_get_embeddings_seq(context_.get(), row.slot);
        if (embedding == nullptr) throw Error(ErrorCode::decode_failed, "The model yielded no embedding.");
        request.embeddings[row.input].assign(embedding, embedding + embedding_length());
    } else {
        pool(row, batch_row);
    }
    if (!row.is_last) return;
    finish_input(request, row.input);
    if (++request.n_done < request.inputs.size() || !request.on_done) return;
    std::exchange(request.on_done, nullptr)(request.embeddings, std::nullopt);
}

// Pools the outputs of the row's tokens. The mean is only summed: finish_input() normalises the length anyway.
void Embedder::pool(const EmbedRow& row, int32_t batch_row) {
    std::vector<float>& embedding = row.request->embeddings[row.input];
    if (pooling_ != Pooling::none) embedding.resize(embedding_length());
    const bool   begins = row.begin == 0;
    const size_t first  = pooling_ == Pooling::last ? row.n_tokens - 1 : 0;
    const size_t last   = pooling_ == Pooling::cls ? 0 : row.n_tokens - 1;
    if (pooling_ == Pooling::cls && !begins) return;
    for (size_t i = first; i <= last; ++i) {
        const float* of_token = llama_get_embeddings_ith(context_.get(), batch_row + static_cast<int32_t>(i));
        if (of_token == nullptr) throw Error(ErrorCode::decode_failed, "The model yielded no embedding.");
        if (pooling_ == Pooling::none) {
            embedding.insert(embedding.end(), of_token, of_token + embedding_length());
            continue;
        }
        const bool adds = pooling_ == Pooling::mean;
        for (size_t at = 0; at < embedding.size(); ++at) {
            embedding[at] = (adds ? embedding[at] : 0.0f) + of_token[at];
        }
    }
}

void Embedder::finish_input(EmbedRequest& request, size_t input) const {
    std::vector<float>& embedding = request.embeddings[input];
    double              sum       = 0.0;
    for (const float each : embedding) sum += static_cast<double>(each) * each;
    if (!std::isfinite(sum)) {
        throw Error(ErrorCode::invalid_logits,
                    "Input " + std::to_string(input) + ": the model computed values that are not numbers.");
    }
    if (pooling_ == Pooling::rank || pooling_ == Pooling::none || sum == 0.0) return;
    const auto scale = static_cast<float>(1.0 / std::sqrt(sum));
    for (float& each : embedding) each *= scale;
}

// Fails a request once, even if several of its inputs fail.
void Embedder::fail(EmbedRequest& request, ErrorCode code, const std::string& message) {
    for (const int32_t slot : queue_.drop(request)) clear(slot);
    if (request.on_done) std::exchange(request.on_done, nullptr)(request.embeddings, Failure{code, message});
}

void Embedder::clear(int32_t slot) {
    if (context_) llama_memory_seq_rm(llama_get_memory(context_.get()), slot, -1, -1);
}

}  // namespace chasqui
