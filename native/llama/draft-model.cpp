#include "draft-model.h"

#include "../core/error-code.h"
#include "../core/sampler.h"
#include "context-params.h"
#include "log.h"

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace chasqui {

namespace {

// Tokens of a text to compute in one step. More would hold up whoever waits for the step.
constexpr size_t kCatchUp = 256;
// As in llama.cpp's common_speculative: vocabularies of one family differ in padding, and in the names of the first few
// tokens.
constexpr int32_t kMostPadding   = 128;
constexpr int32_t kFirstCompared = 5;

std::string architecture_of(const llama_model* model) {
    char name[64] = {};
    llama_model_meta_val_str(model, "general.architecture", name, sizeof name);
    return name;
}

// Why guesses of one could not be tokens of the other; empty if they can.
std::string difference(const llama_vocab* target, const llama_vocab* draft) {
    const int32_t n_target = llama_vocab_n_tokens(target), n_draft = llama_vocab_n_tokens(draft);
    if (llama_vocab_type(target) != llama_vocab_type(draft)) return "they are of different kinds";
    if (std::abs(n_target - n_draft) > kMostPadding) {
        return "they have " + std::to_string(n_target) + " and " + std::to_string(n_draft) + " tokens";
    }
    const bool begins = llama_vocab_get_add_bos(target), ends = llama_vocab_get_add_eos(target);
    if (begins != llama_vocab_get_add_bos(draft) || ends != llama_vocab_get_add_eos(draft) ||
        (begins && llama_vocab_bos(target) != llama_vocab_bos(draft)) ||
        (ends && llama_vocab_eos(target) != llama_vocab_eos(draft))) {
        return "texts begin or end with different tokens";
    }
    for (TokenId token = kFirstCompared; token < std::min(n_target, n_draft); ++token) {
        const char *in_target = llama_vocab_get_text(target, token), *in_draft = llama_vocab_get_text(draft, token);
        if (std::strcmp(in_target, in_draft) == 0) continue;
        return "token " + std::to_string(token) + " is '" + in_target + "' in one and '" + in_draft + "' in the other";
    }
    return {};
}

void check(const DraftOptions& options, const Model& target, const Model& draft, CutBack target_cut_back) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_options, message); };
    if (options.n_max == 0) refuse("A draft model needs tokens to guess: --draft-max must be at least 1.");
    if (options.n_min > options.n_max) refuse("--draft-min must not be larger than --draft-max.");
    if (!(options.p_min >= 0.0f && options.p_min <= 1.0f)) refuse("--draft-p-min must be from 0 to 1.");
    if (target_cut_back == CutBack::never) {
        refuse("A draft model is of no use for " + target.path() +
               ": guesses that fail cannot be taken back out of a recurrent state. Serve it without one.");
    }
    if (llama_model_is_recurrent(draft.handle()) || llama_model_is_hybrid(draft.handle())) {
        refuse(draft.path() + " cannot be a draft model: what it guessed wrongly could not be taken back out of its " +
               "recurrent state. Choose a small transformer of the same family.");
    }
    for (const char* heads_only : {"eagle3", "dflash", "gemma4_assistant"}) {
        if (architecture_of(draft.handle()) != heads_only) continue;
        refuse(draft.path() + " is a head for speculative decoding (" + heads_only +
               "), which needs the large model's inner states. Choose a small model that generates text by itself.");
    }
    const std::string why = difference(target.vocab(), draft.vocab());
    if (!why.empty()) {
        refuse("The draft model " + draft.path() + " cannot guess for " + target.path() +
               " because their vocabularies differ: " + why + ". Choose a small model of the same family.");
    }
}

size_t common_length(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
    const auto end = a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
    return static_cast<size_t>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
}

// The probability of the token with the largest logit.
double probability_of_largest(const float* logits, int32_t n_vocab, TokenId largest) {
    double sum = 0;
    for (TokenId token = 0; token < n_vocab; ++token) sum += std::exp(logits[token] - logits[largest]);
    return 1.0 / sum;
}

}  // namespace

llama_context_params draft_context_params(size_t n_texts, uint32_t context_length) {
    llama_context_params params = llama_context_default_params();
    params.n_seq_max            = static_cast<uint32_t>(n_texts);
    params.n_ctx                = context_length * params.n_seq_max;
    params.kv_unified           = false;
    params.swa_full             = true;
    params.n_batch              = static_cast<uint32_t>(kCatchUp * n_texts);
    params.n_ubatch             = params.n_batch;
    params.n_outputs_max        = params.n_seq_max;
    return params;
}

void DraftModel::FreeContext::operator()(llama_context* context) const { llama_free(context); }

DraftModel::DraftModel(const DraftOptions& options, size_t n_texts, const Model& target, const Decoder& decoder,
                       const Model::Progress& progress)
    : options_(options), model_(options.model_path, target.offload().for_companion(), progress), lanes_(n_texts) {
    check(options_, target, model_, decoder.cut_back());
    n_vocab_ = std::min(target.vocabulary_size(), model_.vocabulary_size());
    create_context(n_texts, decoder);
    batch_ = std::make_unique<llama_batch>(llama_batch_init(static_cast<int32_t>(kCatchUp * n_texts), 0, 1));
    // The weights come into memory now rather than with the first request.
    add_token(0, 0, true);
    if (!compute()) throw Error(ErrorCode::out_of_memory, "The draft model could not compute a token.");
    forget();
}

DraftModel::~DraftModel() {
    if (batch_) llama_batch_free(*batch_);
}

void DraftModel::create_context(size_t n_texts, const Decoder& decoder) {
    llama_context_params params = draft_context_params(n_texts, decoder.context_length());
    params.n_threads            = decoder.decode_threads();
    params.n_threads_batch      = decoder.threads();
    params.abort_callback       = [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); };
    params.abort_callback_data  = &aborted_;
    take_last_errors();
    context_.reset(llama_init_from_model(model_.handle(), params));
    if (!context_) {
        throw Error(ErrorCode::out_of_memory, "llama.cpp could not set up a context for the draft model: " +
                                                  take_last_errors() + ". A smaller context needs less memory.");
    }
    llama_attach_threadpool(context_.get(), decoder.threadpool(), nullptr);
}

std::vector<std::vector<TokenId>> DraftModel::guess(const std::vector<Text>& texts) {
    std::vector<Guess>  guesses(texts.size());
    std::vector<Guess*> open;
    choose_lanes(texts, guesses);
    for (size_t i = 0; i < texts.size(); ++i) {
        if (catch_up(*texts[i].tokens, guesses[i])) open.push_back(&guesses[i]);
    }
    while (compute() && !open.empty()) {
        const auto ends = [this](Guess* guess) { return !take_next(*guess); };
        open.erase(std::remove_if(open.begin(), open.end(), ends), open.end());
        for (Guess* guess : open) guess->row = add_token(guess->lane, guess->tokens.back(), true);
    }
    std::vector<std::vector<TokenId>> result;
    for (Guess& guess : guesses) {
        if (guess.tokens.size() < options_.n_min) guess.tokens.clear();
        result.push_back(std::move(guess.tokens));
    }
    return result;
}

// Texts keep the lane that they had; the others get those that are left, by how much is of use to them.
void DraftModel::choose_lanes(const std::vector<Text>& texts, std::vector<Guess>& guesses) {
    for (Lane& lane : lanes_) lane.taken = false;
    std::vector<size_t> order(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) order[i] = i;
    std::stable_partition(order.begin(), order.end(), [&](size_t i) {
        const auto is_its = [&](const Lane& lane) { return lane.job_id == texts[i].job_id; };
        return std::any_of(lanes_.begin(), lanes_.end(), is_its);
    });
    for (const size_t i : order) {
        guesses[i].lane  = choose_lane(texts[i]);
        guesses[i].n_max = texts[i].n_max;
    }
}

size_t DraftModel::choose_lane(const Text& text) {
    size_t best = lanes_.size(), most = 0;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_[i].taken) continue;
        const bool   is_its  = lanes_[i].job_id == text.job_id;
        const size_t of_use = is_its ? text.tokens->size() + 1 : common_length(lanes_[i].tokens, *text.tokens);
        if (best < lanes_.size() && of_use <= most) continue;
        best = i;
        most = of_use;
    }
    lanes_[best].taken  = true;
    lanes_[best].job_id = text.job_id;
    return best;
}

// Puts what the guess's lane lacks of the text into the batch, or a part of it. False while there is more.
bool DraftModel::catch_up(const std::vector<TokenId>& tokens, Guess& guess) {
    Lane& lane = lanes_[guess.lane];
    // The last token is always computed: its logits are what the guess begins with.
    const size_t n_kept = std::min(common_length(lane.tokens, tokens), tokens.size() - 1);
    llama_memory_seq_rm(llama_get_memory(context_.get()), static_cast<llama_seq_id>(guess.lane),
                        n_kept == 0 ? -1 : static_cast<llama_pos>(n_kept), -1);
    lane.tokens.resize(n_kept);
    const size_t end = std::min(tokens.size(), n_kept + kCatchUp);
    for (size_t at = n_kept; at < end; ++at) guess.row = add_token(guess.lane, tokens[at], at + 1 == tokens.size());
    return end == tokens.size();
}

// Takes the most probable next token. False when the guess ends there.
bool DraftModel::take_next(Guess& guess) const {
    const float*  logits = llama_get_logits_ith(context_.get(), guess.row);
    const TokenId next   = argmax(logits, n_vocab_);
    if (options_.p_min > 0.0f && probability_of_largest(logits, n_vocab_, next) < options_.p_min) return false;
    guess.tokens.push_back(next);
    return guess.tokens.size() < guess.n_max && !llama_vocab_is_eog(model_.vocab(), next);
}

// Returns its row in the batch.
int32_t DraftModel::add_token(size_t lane, TokenId token, bool output) {
    const auto at         = static_cast<size_t>(batch_->n_tokens++);
    batch_->token[at]     = token;
    batch_->pos[at]       = static_cast<llama_pos>(lanes_[lane].tokens.size());
    batch_->n_seq_id[at]  = 1;
    batch_->seq_id[at][0] = static_cast<llama_seq_id>(lane);
    batch_->logits[at]    = output;
    lanes_[lane].tokens.push_back(token);
    return static_cast<int32_t>(at);
}

// Computes the batch and empties it. When that fails nothing is guessed, and the answers go on without.
bool DraftModel::compute() {
    if (batch_->n_tokens == 0) return true;
    const bool computed = llama_decode(context_.get(), *batch_) == 0;
    llama_synchronize(context_.get());
    batch_->n_tokens = 0;
    if (!computed) forget();
    return computed;
}

void DraftModel::forget() {
    llama_memory_clear(llama_get_memory(context_.get()), false);
    for (Lane& lane : lanes_) lane = {};
}

}  // namespace chasqui
