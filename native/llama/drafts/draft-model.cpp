#include "draft-model.h"

#include "../../core/error-code.h"
#include "../decoding/context-params.h"

#include <llama.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace chasqui {

namespace {

// More tokens of an input per step would delay every sequence of that step.
constexpr size_t kMaxCatchUpTokens = 256;
// As in llama.cpp's common_speculative: vocabularies of one family differ in padding and in the first few tokens.
constexpr int32_t kMaxPadding         = 128;
constexpr int32_t kFirstComparedToken = 5;

std::string architecture_of(const llama_model* model) {
    char name[64] = {};
    llama_model_meta_val_str(model, "general.architecture", name, sizeof name);
    return name;
}

// Why the vocabularies differ; empty if they are the same.
std::string difference(const llama_vocab* target, const llama_vocab* draft) {
    const int32_t n_target = llama_vocab_n_tokens(target), n_draft = llama_vocab_n_tokens(draft);
    if (llama_vocab_type(target) != llama_vocab_type(draft)) return "their types differ";
    if (std::abs(n_target - n_draft) > kMaxPadding) {
        return "they have " + std::to_string(n_target) + " and " + std::to_string(n_draft) + " tokens";
    }
    const bool begins = llama_vocab_get_add_bos(target), ends = llama_vocab_get_add_eos(target);
    if (begins != llama_vocab_get_add_bos(draft) || ends != llama_vocab_get_add_eos(draft) ||
        (begins && llama_vocab_bos(target) != llama_vocab_bos(draft)) ||
        (ends && llama_vocab_eos(target) != llama_vocab_eos(draft))) {
        return "their BOS or EOS tokens differ";
    }
    for (TokenId token = kFirstComparedToken; token < std::min(n_target, n_draft); ++token) {
        const char *in_target = llama_vocab_get_text(target, token), *in_draft = llama_vocab_get_text(draft, token);
        if (std::strcmp(in_target, in_draft) == 0) continue;
        return "token " + std::to_string(token) + " is '" + in_target + "' in one and '" + in_draft + "' in the other";
    }
    return {};
}

void check(const Model& target, const Model& draft, Truncation target_truncation) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_options, message); };
    if (target_truncation == Truncation::never) {
        refuse("A draft model cannot be used for " + target.path() +
               ": rejected drafts cannot be removed from a recurrent state. Serve it without one.");
    }
    if (llama_model_is_recurrent(draft.handle()) || llama_model_is_hybrid(draft.handle())) {
        refuse(draft.path() + " cannot be a draft model: rejected drafts could not be removed from its recurrent " +
               "state. Choose a small transformer of the same family.");
    }
    for (const char* heads_only : {"eagle3", "dflash", "gemma4-assistant"}) {
        if (architecture_of(draft.handle()) != heads_only) continue;
        refuse(draft.path() + " is a head for speculative decoding (" + heads_only +
               "), which needs the large model's inner states. Choose a small model that generates text by itself.");
    }
    const std::string why = difference(target.vocab(), draft.vocab());
    if (!why.empty()) {
        refuse("The draft model " + draft.path() + " cannot draft for " + target.path() +
               " because their vocabularies differ: " + why + ". Choose a small model of the same family.");
    }
}

size_t common_length(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
    const auto end = a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
    return static_cast<size_t>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
}

}  // namespace

llama_context_params draft_context_params(size_t n_slots, uint32_t context_length, const ContextSettings& settings) {
    llama_context_params params = llama_context_default_params();
    params.n_seq_max            = static_cast<uint32_t>(n_slots);
    params.n_ctx                = context_length * params.n_seq_max;
    params.kv_unified           = false;
    params.swa_full             = true;
    params.n_batch              = static_cast<uint32_t>(kMaxCatchUpTokens * n_slots);
    params.n_ubatch             = params.n_batch;
    params.n_outputs_max        = params.n_seq_max;
    settings.apply(params);
    return params;
}

DraftModel::DraftModel(const DraftOptions& options, size_t n_slots, const Model& target, const Decoder& decoder,
                       const Model::Progress& progress)
    : DraftSource(options, "A draft model"),
      model_((check_gguf_file(options.model_path, "draftModel"), options.model_path),
             target.offload().for_draft_model(), progress),
      slots_(n_slots) {
    check(target, model_, decoder.truncation());
    n_vocab_ = std::min(target.vocabulary_size(), model_.vocabulary_size());
    context_ = create_context(model_.handle(), draft_context_params(n_slots, decoder.context_length(), options_.context),
                              decoder, "the draft model");
    batch_ = std::make_unique<llama_batch>(llama_batch_init(static_cast<int32_t>(kMaxCatchUpTokens * n_slots), 0, 1));
    // Loads the weights into memory now rather than with the first request.
    add_token(0, 0, true);
    if (!compute()) throw Error(ErrorCode::out_of_memory, "The draft model could not compute a token.");
    clear();
}

DraftModel::~DraftModel() {
    if (batch_) llama_batch_free(*batch_);
}

std::vector<std::vector<TokenId>> DraftModel::draft(const std::vector<Input>& inputs) {
    std::vector<Draft>  drafts(inputs.size());
    std::vector<Draft*> open;
    choose_slots(inputs, drafts);
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (catch_up(inputs[i].sequence->tokens, drafts[i])) open.push_back(&drafts[i]);
    }
    while (compute() && !open.empty()) {
        const auto ends = [this](Draft* draft) { return !take_next(*draft, context_.get(), model_, n_vocab_); };
        open.erase(std::remove_if(open.begin(), open.end(), ends), open.end());
        for (Draft* draft : open) draft->row = add_token(draft->slot, draft->tokens.back(), true);
    }
    return take_tokens(drafts);
}

// An input keeps the slot that its job had in the last call. Each of the others takes the remaining slot with the
// longest common prefix.
void DraftModel::choose_slots(const std::vector<Input>& inputs, std::vector<Draft>& drafts) {
    for (Slot& slot : slots_) slot.taken = false;
    std::vector<size_t> order(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) order[i] = i;
    std::stable_partition(order.begin(), order.end(), [&](size_t i) {
        const auto is_its = [&](const Slot& slot) { return slot.job_id == inputs[i].sequence->id(); };
        return std::any_of(slots_.begin(), slots_.end(), is_its);
    });
    for (const size_t i : order) {
        drafts[i].slot  = choose_slot(inputs[i]);
        drafts[i].n_max = inputs[i].n_max;
    }
}

size_t DraftModel::choose_slot(const Input& input) {
    const std::vector<TokenId>& tokens = input.sequence->tokens;
    const uint32_t              job_id = input.sequence->id();
    size_t best = slots_.size(), best_length = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].taken) continue;
        const bool   is_its = slots_[i].job_id == job_id;
        const size_t length = is_its ? tokens.size() + 1 : common_length(slots_[i].tokens, tokens);
        if (best < slots_.size() && length <= best_length) continue;
        best        = i;
        best_length = length;
    }
    slots_[best].taken  = true;
    slots_[best].job_id = job_id;
    return best;
}

// Adds the tokens without cells in the draft's slot to the batch, up to kMaxCatchUpTokens. Returns whether these were
// all.
bool DraftModel::catch_up(const std::vector<TokenId>& tokens, Draft& draft) {
    Slot& slot = slots_[draft.slot];
    // The last token is always recomputed: the draft starts from its logits.
    const size_t n_kept = std::min(common_length(slot.tokens, tokens), tokens.size() - 1);
    llama_memory_seq_rm(llama_get_memory(context_.get()), static_cast<llama_seq_id>(draft.slot),
                        n_kept == 0 ? -1 : static_cast<llama_pos>(n_kept), -1);
    slot.tokens.resize(n_kept);
    const size_t end = std::min(tokens.size(), n_kept + kMaxCatchUpTokens);
    for (size_t at = n_kept; at < end; ++at) draft.row = add_token(draft.slot, tokens[at], at + 1 == tokens.size());
    return end == tokens.size();
}

// Returns the token's row in the batch.
int32_t DraftModel::add_token(size_t slot, TokenId token, bool output) {
    const auto at         = static_cast<size_t>(batch_->n_tokens++);
    batch_->token[at]     = token;
    batch_->pos[at]       = static_cast<llama_pos>(slots_[slot].tokens.size());
    batch_->n_seq_id[at]  = 1;
    batch_->seq_id[at][0] = static_cast<llama_seq_id>(slot);
    batch_->logits[at]    = output;
    slots_[slot].tokens.push_back(token);
    return static_cast<int32_t>(at);
}

// Computes and clears the batch. If that fails, generation continues without drafts.
bool DraftModel::compute() {
    if (batch_->n_tokens == 0) return true;
    const bool succeeded = llama_decode(context_.get(), *batch_) == 0;
    llama_synchronize(context_.get());
    batch_->n_tokens = 0;
    if (!succeeded) clear();
    return succeeded;
}

void DraftModel::clear() {
    llama_memory_clear(llama_get_memory(context_.get()), false);
    for (Slot& slot : slots_) slot = {};
}

}  // namespace chasqui
