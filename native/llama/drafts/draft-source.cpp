#include "draft-source.h"

#include "../../core/error-code.h"
#include "../../core/sampler.h"
#include "../decoding/context-params.h"

#include <llama.h>

#include <cmath>
#include <utility>

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
    Context context(open_context(model, params, options_.context, std::string("for ") + what));
    llama_attach_threadpool(context.get(), decoder.threadpool(), nullptr);
    return context;
}

bool DraftSource::take_next(Draft& draft, llama_context* context, const Model& model, int32_t n_vocab) const {
    const float*  logits = llama_get_logits_ith(context, draft.row);
    const TokenId next   = argmax(logits, n_vocab);
    if (options_.p_min > 0.0f && probability_of_largest(logits, n_vocab, next) < options_.p_min) return false;
    draft.tokens.push_back(next);
    return draft.tokens.size() < draft.n_max && !llama_vocab_is_eog(model.vocab(), next);
}

std::vector<std::vector<TokenId>> DraftSource::take_tokens(std::vector<Draft>& drafts) const {
    std::vector<std::vector<TokenId>> result;
    for (Draft& draft : drafts) {
        if (draft.tokens.size() < options_.n_min) draft.tokens.clear();
        result.push_back(std::move(draft.tokens));
    }
    return result;
}

}  // namespace chasqui
