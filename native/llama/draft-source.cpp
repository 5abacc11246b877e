#include "draft-source.h"

#include "../core/error-code.h"
#include "../core/sampler.h"
#include "log.h"

#include <llama.h>

#include <cmath>

namespace chasqui {

namespace {

double probability_of_largest(const float* logits, int32_t n_vocab, TokenId largest) {
    double sum = 0;
    for (TokenId token = 0; token < n_vocab; ++token) sum += std::exp(logits[token] - logits[largest]);
    return 1.0 / sum;
}

}  // namespace

void DraftSource::FreeContext::operator()(llama_context* context) const { llama_free(context); }

DraftSource::DraftSource(const DraftOptions& options, const char* what) : options_(options) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_options, message); };
    if (options.n_max == 0) refuse(std::string(what) + " needs tokens to draft: `draftMax` must be at least 1.");
    if (options.n_min > options.n_max) refuse("`draftMin` must not be larger than `draftMax`.");
    if (!(options.p_min >= 0.0f && options.p_min <= 1.0f)) refuse("`draftPMin` must be from 0 to 1.");
}

DraftSource::Context DraftSource::create_context(llama_model* model, llama_context_params params, const Decoder& decoder,
                                                 const char* what) {
    params.n_threads           = decoder.decode_threads();
    params.n_threads_batch     = decoder.threads();
    params.abort_callback      = [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); };
    params.abort_callback_data = &aborted_;
    take_last_errors();
    Context context(llama_init_from_model(model, params));
    if (!context) {
        const std::string said = take_last_errors();
        refuse_settings(options_.context, said);
        throw Error(ErrorCode::out_of_memory, std::string("llama.cpp could not set up a context for ") + what + ": " +
                                                  said + ". A smaller context needs less memory.");
    }
    llama_attach_threadpool(context.get(), decoder.threadpool(), nullptr);
    return context;
}

std::optional<TokenId> DraftSource::next_token(const float* logits, int32_t n_vocab) const {
    const TokenId next = argmax(logits, n_vocab);
    if (options_.p_min > 0.0f && probability_of_largest(logits, n_vocab, next) < options_.p_min) return std::nullopt;
    return next;
}

}  // namespace chasqui
