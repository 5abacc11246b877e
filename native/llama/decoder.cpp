#include "decoder.h"

#include "../core/error-code.h"
#include "log.h"

#include <common.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <llama.h>

#include <algorithm>
#include <string>

namespace chasqui {

namespace {

constexpr uint32_t kDefaultContextLength = 4096;
constexpr uint32_t kCellPadding          = 256;  // llama.cpp rounds each sequence's cells up to this

// CPU functions live in a module that is chosen at run time, so they are looked up rather than linked.
template <typename Function>
Function* cpu_function(const char* name) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return reinterpret_cast<Function*>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), name));
}

void check(const DecoderOptions& options) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_options, message); };
    if (options.parallel < 1 || options.parallel > llama_max_parallel_sequences()) {
        refuse("parallel must be from 1 to " + std::to_string(llama_max_parallel_sequences()) + ", not " +
               std::to_string(options.parallel) + ".");
    }
    if (options.n_ubatch < 1 || options.n_batch < options.n_ubatch) refuse("n_batch must be at least n_ubatch.");
    if (options.context_length > 0 && options.context_length < 16) {
        refuse("The context must be at least 16 tokens long, not " + std::to_string(options.context_length) + ".");
    }
    const uint64_t cells = static_cast<uint64_t>(options.context_length) * options.parallel;
    if (cells > INT32_MAX) {
        refuse("A context of " + std::to_string(options.context_length) + " tokens for " +
               std::to_string(options.parallel) + " sequences is more than llama.cpp can address.");
    }
}

uint32_t padded_context_length(const Model& model, const DecoderOptions& options) {
    uint32_t length = options.context_length;
    if (length == 0) length = std::min<uint32_t>(kDefaultContextLength, model.trained_context_length());
    return (length + kCellPadding - 1) / kCellPadding * kCellPadding;
}

}  // namespace

void Decoder::FreeContext::operator()(llama_context* context) const { llama_free(context); }

void Decoder::FreeThreadpool::operator()(ggml_threadpool* threadpool) const {
    cpu_function<decltype(ggml_threadpool_free)>("ggml_threadpool_free")(threadpool);
}

Decoder::Decoder(const Model& model, const DecoderOptions& options) {
    check(options);
    const int32_t        threads = options.threads > 0 ? options.threads : common_cpu_get_num_math();
    llama_context_params params  = llama_context_default_params();
    // One KV stream per sequence: rows attend over their own cells only.
    params.n_ctx               = padded_context_length(model, options) * options.parallel;
    params.n_seq_max           = options.parallel;
    params.kv_unified          = false;
    params.n_batch             = std::max(options.n_batch, options.parallel);
    params.n_ubatch            = std::max(options.n_ubatch, options.parallel);
    params.n_outputs_max       = options.parallel;
    params.n_threads           = threads;
    params.n_threads_batch     = threads;
    params.abort_callback      = [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); };
    params.abort_callback_data = &aborted_;

    take_last_errors();
    context_.reset(llama_init_from_model(model.handle(), params));
    if (!context_) {
        throw Error(ErrorCode::out_of_memory, "llama.cpp could not set up a context of " +
                                                  std::to_string(params.n_ctx) + " cells: " + take_last_errors() +
                                                  ". A smaller context or fewer parallel sequences need less memory.");
    }
    create_threadpool(threads);
    batch_ = std::make_unique<llama_batch>(llama_batch_init(static_cast<int32_t>(n_batch()), 0, 1));
}

Decoder::~Decoder() {
    if (batch_) llama_batch_free(*batch_);
}

// Without one that stays, ggml starts and joins its threads anew for every decode.
void Decoder::create_threadpool(int32_t threads) {
    ggml_threadpool_params params = ggml_threadpool_params_default(threads);
    threadpool_.reset(cpu_function<decltype(ggml_threadpool_new)>("ggml_threadpool_new")(&params));
    if (!threadpool_) throw Error(ErrorCode::out_of_memory, "The compute threads could not be started.");
    llama_attach_threadpool(context_.get(), threadpool_.get(), nullptr);
}

void Decoder::add_row(const PlanRow& row) {
    const Sequence& sequence = *row.sequence;
    const bool      reaches_end = row.n_tokens == sequence.n_pending();
    for (size_t i = 0; i < row.n_tokens; ++i) {
        const auto   at     = static_cast<size_t>(batch_->n_tokens++);
        const size_t source = sequence.n_computed + i;
        batch_->token[at]     = sequence.tokens[source];
        batch_->pos[at]       = static_cast<llama_pos>(source);
        batch_->n_seq_id[at]  = 1;
        batch_->seq_id[at][0] = sequence.slot;
        batch_->logits[at]    = reaches_end && i + 1 == row.n_tokens;
    }
    output_rows_.push_back(reaches_end ? batch_->n_tokens - 1 : -1);
}

void Decoder::decode(const Plan& plan) {
    batch_->n_tokens = 0;
    output_rows_.clear();
    size_t n_tokens = 0;
    for (const PlanRow& row : plan) {
        n_tokens += row.n_tokens;
        if (n_tokens > n_batch() || row.sequence->n_computed + row.n_tokens > context_length()) {
            throw Error(ErrorCode::decode_failed, "The step's plan is larger than the batch or the context.");
        }
        add_row(row);
    }
    take_last_errors();
    const int32_t result = llama_decode(context_.get(), *batch_);
    if (result == 0) {
        llama_synchronize(context_.get());
        return;
    }
    if (aborted_) throw Error(ErrorCode::engine_closed, "The engine was closed.");
    throw Error(ErrorCode::decode_failed,
                "llama_decode failed with " + std::to_string(result) + ": " + take_last_errors());
}

float* Decoder::logits(size_t plan_row) const {
    const int32_t row = output_rows_[plan_row];
    return row < 0 ? nullptr : llama_get_logits_ith(context_.get(), row);
}

void Decoder::clear(int32_t slot) { llama_memory_seq_rm(llama_get_memory(context_.get()), slot, -1, -1); }

uint32_t Decoder::context_length() const { return llama_n_ctx_seq(context_.get()); }
uint32_t Decoder::parallel() const { return llama_n_seq_max(context_.get()); }
uint32_t Decoder::n_batch() const { return llama_n_batch(context_.get()); }

}  // namespace chasqui
