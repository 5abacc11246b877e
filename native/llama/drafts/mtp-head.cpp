#include "mtp-head.h"

#include "../../core/error-code.h"
#include "../decoding/context-params.h"

#include <ggml.h>
#include <llama.h>

#include <../src/llama-ext.h>

#include <algorithm>
#include <utility>

// Declared in llama.cpp's src/llama-model.h, which is not a public header.
const std::vector<std::pair<std::string, ggml_tensor*>>& llama_internal_get_tensor_map(const llama_model* model);

namespace chasqui {

namespace {

constexpr size_t kMaxBatch = 256;  // inputs of a prompt

// Architectures with a graph for one MTP layer in llama.cpp. qwen35 and hy_v3 were tested with random weights; the
// other two have the same graphs with experts. Graphs for several layers in rotation or for other kinds of attention
// are not supported here. For other architectures llama.cpp would abort the process.
constexpr const char* kArchitectures[] = {"qwen35", "qwen35moe", "glm4moe", "hy_v3"};
// llama.cpp would abort the process if these weights of the layer were missing.
constexpr const char* kTensors[] = {"nextn.eh_proj.weight", "nextn.enorm.weight", "nextn.hnorm.weight"};

std::string metadata(const llama_model* model, const std::string& key) {
    char value[128] = {};
    return llama_model_meta_val_str(model, key.c_str(), value, sizeof value) < 0 ? "" : value;
}

bool has_tensors(const llama_model* model) {
    const std::string block = "blk." + std::to_string(llama_model_n_layer(model)) + ".";
    const auto&       all   = llama_internal_get_tensor_map(model);
    return std::all_of(std::begin(kTensors), std::end(kTensors), [&](const char* name) {
        return std::any_of(all.begin(), all.end(), [&](const auto& tensor) { return tensor.first == block + name; });
    });
}

void check(const DraftOptions& options, const Model& model, const Decoder& decoder) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_options, message); };
    const std::string why    = mtp_obstacle(model.handle());
    if (!why.empty()) refuse(model.path() + " cannot draft by MTP layers: " + why);
    if (!has_tensors(model.handle())) {
        refuse(model.path() +
               " declares an MTP layer, but its weights are not in the file. They may have been removed " +
               "by its conversion.");
    }
    if (decoder.n_rollback() == 0) {
        refuse(model.path() + " cannot draft by MTP layers: rejected drafts cannot be removed from its recurrent state.");
    }
    if (options.n_max > MtpHead::kMaxLength) {
        refuse("MTP layers draft at most " + std::to_string(MtpHead::kMaxLength) + " tokens at a time: `draftMax` is " +
               std::to_string(options.n_max) + ".");
    }
}

}  // namespace

std::string mtp_obstacle(const llama_model* model) {
    const std::string architecture = metadata(model, "general.architecture");
    const std::string n_layers     = metadata(model, architecture + ".nextn_predict_layers");
    if (n_layers.empty() || n_layers == "0") return "its file has none.";
    if (std::find(std::begin(kArchitectures), std::end(kArchitectures), architecture) == std::end(kArchitectures)) {
        return "those of its architecture (" + architecture + ") are not supported.";
    }
    if (n_layers != "1") return "it has " + n_layers + " of them, and only one is supported.";
    return {};
}

llama_context_params mtp_context_params(uint32_t n_slots, uint32_t context_length, size_t n_max,
                                        const ContextSettings& settings) {
    llama_context_params params = llama_context_default_params();
    params.ctx_type             = LLAMA_CONTEXT_TYPE_MTP;
    params.n_seq_max            = n_slots;
    params.n_ctx                = context_length * n_slots;
    params.kv_unified           = false;
    params.swa_full             = true;
    params.n_batch              = kMaxBatch + MtpHead::kMaxLength;  // including an accepted draft
    params.n_ubatch             = kMaxBatch;
    params.n_outputs_max        = std::max(n_slots, static_cast<uint32_t>(kMaxDraftedSequences * (n_max + 1)));
    settings.apply(params);
    return params;
}

MtpHead::MtpHead(const DraftOptions& options, const Model& model, const Decoder& decoder)
    : DraftSource(options, "An MTP layer"),
      model_(model),
      hidden_rows_(*decoder.hidden_rows()),
      n_embd_(static_cast<size_t>(llama_model_n_embd_out(model.handle()))),
      slots_(decoder.n_slots()) {
    check(options_, model, decoder);
    context_ = create_context(
        model.handle(),
        mtp_context_params(decoder.n_slots(), decoder.context_length(), options_.n_max, options_.context), decoder,
        "the MTP layer");
    // Output rows only for tokens with logits: all tokens of a draft have them, and other inputs need none.
    llama_set_embeddings_nextn(context_.get(), true, true);
    // Loads the weights into memory now rather than with the first request.
    const std::vector<float> row(n_embd_, 0.0f);
    add_input(0, 1, 0, row.data(), true);
    if (!compute()) throw Error(ErrorCode::out_of_memory, "The MTP layer could not compute a token.");
    clear();
}

void MtpHead::computed(const std::vector<PlanRow>& rows) {
    // Steps of so many sequences have no drafts. Their rows are lost, so the slots will restart.
    if (rows.size() > kMaxDraftedSequences) return;
    for (size_t i = 0; i < rows.size(); ++i) store_rows(rows[i], i);
}

void MtpHead::store_rows(const PlanRow& row, size_t plan_row) {
    const Sequence& sequence = *row.sequence;
    const auto      slot_id  = static_cast<size_t>(sequence.slot);
    const size_t    n_tokens = row.n_tokens + row.draft.size(), begin = sequence.n_computed;
    size_t          index    = 0;
    while (index < n_tokens && hidden_rows_.at(plan_row, index) == nullptr) ++index;
    // Images have no tokens, and their own positions.
    if (index == n_tokens || sequence.media() != nullptr) return;

    Slot& slot = slots_[slot_id];
    if (!continues(slot, sequence, begin + index)) restart(slot_id, begin + index);
    slot.rows.resize((begin + index + 1 - slot.next_input) * n_embd_);  // drops the rows of rejected drafts
    store_tokens(slot, row);
    for (; index < n_tokens; ++index) {
        const float* hidden = hidden_rows_.at(plan_row, index);
        if (hidden == nullptr) return;
        slot.rows.insert(slot.rows.end(), hidden, hidden + n_embd_);
        // Excludes the draft: its tokens may still be rejected.
        const size_t readable_end = std::min(rows_end(slot) + 1, begin + row.n_tokens);
        if (readable_end < slot.next_input + kMaxBatch) continue;
        read_inputs(slot_id, sequence.tokens, kMaxBatch, false);
        if (!compute()) return;
    }
}

// Stores the computed tokens of the sequence, then its draft.
void MtpHead::store_tokens(Slot& slot, const PlanRow& row) {
    const Sequence& sequence = *row.sequence;
    const auto      begin    = sequence.tokens.begin();
    const size_t    n_kept   = slot.job_id == sequence.id() ? std::min(slot.tokens.size(), sequence.n_computed) : 0;
    slot.job_id              = sequence.id();
    slot.adapters            = sequence.job().adapters;
    slot.tokens.resize(n_kept);
    slot.tokens.insert(slot.tokens.end(), begin + static_cast<std::ptrdiff_t>(n_kept),
                       begin + static_cast<std::ptrdiff_t>(sequence.n_computed + row.n_tokens));
    slot.tokens.insert(slot.tokens.end(), row.draft.begin(), row.draft.end());
}

// Whether the slot's cells and rows up to position `first` belong to this sequence: it is the same one, or another one
// with the same tokens and adapters.
bool MtpHead::continues(const Slot& slot, const Sequence& sequence, size_t first) const {
    if (first + 1 < slot.next_input || first > rows_end(slot) || slot.tokens.empty()) return false;
    if (slot.job_id == sequence.id()) return true;
    return slot.next_input <= first && slot.adapters == sequence.job().adapters && slot.tokens.size() >= first &&
           std::equal(slot.tokens.begin(), slot.tokens.begin() + static_cast<std::ptrdiff_t>(first),
                      sequence.tokens.begin());
}

// The next row to arrive is that of position `first`.
void MtpHead::restart(size_t slot, size_t first) {
    trim(slot, 0);
    slots_[slot].rows.clear();
    slots_[slot].next_input = first + 1;
}

// Whether there are rows for all tokens of the sequence except the last, which the model has not computed yet.
bool MtpHead::may_draft(const Sequence& sequence) const {
    const Slot& slot = slots_[static_cast<size_t>(sequence.slot)];
    return slot.job_id == sequence.id() && rows_end(slot) >= sequence.n_computed &&
           slot.next_input <= sequence.n_computed;
}

// Moves the next inputs of the slot to the batch, and drops their rows.
void MtpHead::read_inputs(size_t slot_id, const std::vector<TokenId>& tokens, size_t n_inputs, bool output) {
    Slot& slot = slots_[slot_id];
    for (size_t i = 0; i < n_inputs; ++i, ++slot.next_input) {
        add_input(slot_id, slot.next_input, tokens[slot.next_input], slot.rows.data() + i * n_embd_, output);
    }
    slot.rows.erase(slot.rows.begin(), slot.rows.begin() + static_cast<std::ptrdiff_t>(n_inputs * n_embd_));
}

std::vector<std::vector<TokenId>> MtpHead::draft(const std::vector<Input>& inputs) {
    std::vector<Draft>  drafts(inputs.size());
    std::vector<Draft*> open;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Sequence& sequence = *inputs[i].sequence;
        if (!may_draft(sequence)) continue;
        drafts[i]    = {static_cast<size_t>(sequence.slot), sequence.n_computed + 1, inputs[i].n_max, {}, -1};
        Slot& slot   = slots_[drafts[i].slot];
        // Rows are output only for tokens with logits, so all inputs of the batch that drafts must have logits. If
        // there are many, the others are computed first.
        const size_t n_new = sequence.n_computed + 1 - slot.next_input;
        if (n_new > options_.n_max + 1) {
            read_inputs(drafts[i].slot, sequence.tokens, n_new - 1, false);
            if (!compute()) return std::vector<std::vector<TokenId>>(inputs.size());
        }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (drafts[i].n_max == 0) continue;
        const Sequence& sequence = *inputs[i].sequence;
        read_inputs(drafts[i].slot, sequence.tokens, drafts[i].position - slots_[drafts[i].slot].next_input, true);
        drafts[i].row = static_cast<int32_t>(tokens_.size()) - 1;
        open.push_back(&drafts[i]);
    }
    while (!open.empty() && compute()) {
        const auto ends = [this](Draft* draft) {
            return !take_next(*draft, context_.get(), model_, model_.vocabulary_size());
        };
        open.erase(std::remove_if(open.begin(), open.end(), ends), open.end());
        for (Draft* draft : open) {
            const float* row = llama_get_embeddings_nextn_ith(context_.get(), draft->row);
            add_input(draft->slot, draft->position++, draft->tokens.back(), row, true);
            draft->row = static_cast<int32_t>(tokens_.size()) - 1;
        }
    }
    for (const Draft& draft : drafts) {
        if (draft.n_max > 0) trim(draft.slot, slots_[draft.slot].next_input);  // removes the cells of its own rows
    }
    return take_tokens(drafts);
}

void MtpHead::add_input(size_t slot, size_t position, TokenId token, const float* row, bool output) {
    tokens_.push_back(token);
    rows_.insert(rows_.end(), row, row + n_embd_);
    positions_.push_back(static_cast<int32_t>(position));
    n_slots_.push_back(1);
    slot_ids_.push_back(static_cast<int32_t>(slot));
    outputs_.push_back(output ? 1 : 0);
}

void MtpHead::trim(size_t slot, size_t position) {
    llama_memory_seq_rm(llama_get_memory(context_.get()), static_cast<llama_seq_id>(slot),
                        position == 0 ? -1 : static_cast<llama_pos>(position), -1);
}

// Computes and clears the batch. If that fails, generation continues without drafts.
bool MtpHead::compute() {
    if (tokens_.empty()) return true;
    std::vector<llama_seq_id*> slots;
    for (int32_t& slot : slot_ids_) slots.push_back(&slot);
    const bool succeeded =
        llama_decode(context_.get(), {static_cast<int32_t>(tokens_.size()), tokens_.data(), rows_.data(),
                                      positions_.data(), n_slots_.data(), slots.data(), outputs_.data()}) == 0;
    llama_synchronize(context_.get());
    tokens_.clear();
    rows_.clear();
    positions_.clear();
    n_slots_.clear();
    slot_ids_.clear();
    outputs_.clear();
    if (!succeeded) clear();
    return succeeded;
}

void MtpHead::clear() {
    llama_memory_clear(llama_get_memory(context_.get()), false);
    for (Slot& slot : slots_) slot = {};
}

}  // namespace chasqui
