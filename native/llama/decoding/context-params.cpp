#include "context-params.h"

#include "../system/log.h"

#include <common.h>

#include <algorithm>
#include <string>

namespace chasqui {

namespace {

void check(const DecoderOptions& options) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_options, message); };
    if (options.n_slots < 1 || options.n_slots > llama_max_parallel_sequences()) {
        refuse("parallel must be from 1 to " + std::to_string(llama_max_parallel_sequences()) + ", not " +
               std::to_string(options.n_slots) + ".");
    }
    if (options.n_ubatch < 1 || options.n_batch < options.n_ubatch) refuse("n_batch must be at least n_ubatch.");
    if (options.context_length > 0 && options.context_length < 16) {
        refuse("The context must be at least 16 tokens long, not " + std::to_string(options.context_length) + ".");
    }
    const uint64_t cells = static_cast<uint64_t>(options.context_length) * options.n_slots;
    if (cells > INT32_MAX) {
        refuse("A context of " + std::to_string(options.context_length) + " tokens for " +
               std::to_string(options.n_slots) + " sequences is more than llama.cpp can address.");
    }
}

uint32_t padded_context_length(uint32_t trained_length, const DecoderOptions& options) {
    uint32_t length = options.context_length;
    if (length == 0) length = std::min(kDefaultContextLength, trained_length);
    return (length + kCellPadding - 1) / kCellPadding * kCellPadding;
}

}  // namespace

llama_context_params decoder_context_params(uint32_t trained_length, const DecoderOptions& options) {
    check(options);
    const int32_t        threads = options.threads > 0 ? options.threads : common_cpu_get_num_math();
    llama_context_params params  = llama_context_default_params();
    // One KV stream per sequence: attention reads only the sequence's own cells.
    params.n_ctx           = padded_context_length(trained_length, options) * options.n_slots;
    params.n_seq_max       = options.n_slots;
    params.kv_unified      = false;
    // Sliding-window layers keep all cells; otherwise no slot could be truncated.
    params.swa_full        = true;
    // Tokens that may be rolled back must be in one micro-batch; llama.cpp aborts if they do not fit.
    const uint32_t n_last  = options.n_rollback == 0 ? 0 : options.n_rollback + 2;
    params.n_batch         = std::max({options.n_batch, options.n_slots + options.n_draft_outputs, n_last});
    params.n_ubatch        = std::max({options.n_ubatch, options.n_slots, n_last});
    params.n_rs_seq        = options.n_rollback;
    params.n_outputs_max   = options.n_slots + options.n_draft_outputs;
    params.n_threads       = threads;
    params.n_threads_batch = options.threads_batch > 0 ? options.threads_batch : threads;
    options.context.apply(params);
    return params;
}

llama_context* open_context(llama_model* model, const llama_context_params& params, const ContextSettings& settings,
                            const std::string& what, ErrorCode otherwise) {
    take_last_errors();
    const ThrownAssertions guard;
    if (llama_context* context = llama_init_from_model(model, params)) return context;
    const std::string said = take_last_errors();
    refuse_settings(settings, said);
    const ErrorCode code   = failure_code(said, otherwise);
    const char*     advice = ". A smaller context or fewer parallel sequences need less memory.";
    throw Error(code, "llama.cpp could not set up a context " + what + ": " + said +
                          (code == ErrorCode::out_of_memory ? advice : "."));
}

}  // namespace chasqui
