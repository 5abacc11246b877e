#include "decoder.h"

#include "../../core/error-code.h"
#include "batch-invariance.h"
#include "context-params.h"
#include "../images/image-batch.h"
#include "../system/log.h"

#include <llama.h>
#include <passes.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

namespace chasqui {

namespace {

// Fewer threads are tried if a step is shorter than this, and chosen if they take less than this share of its time.
constexpr double kSmallStepMs   = 5.0;
constexpr double kClearlyFaster = 0.9;

// How long ggml's threads poll for the next step before they sleep, from 0 to 100. This is some milliseconds, enough
// for the work between two steps. The default of 50 would permanently take a core from the image encoder.
constexpr uint32_t kPoll = 1;

TokenId first_token(const llama_vocab* vocab) {
    const TokenId begin = llama_vocab_bos(vocab);
    return begin >= 0 ? begin : 0;
}

Truncation truncation_of(const llama_model* model) {
    if (llama_model_is_recurrent(model) || llama_model_is_hybrid(model)) return Truncation::never;
    // llama_kv_cache::state_write omits cells outside the window.
    return llama_model_n_swa(model) > 0 ? Truncation::in_place : Truncation::anywhere;
}

}  // namespace

void Decoder::FreeContext::operator()(llama_context* context) const { llama_free(context); }

Decoder::Decoder(const Model& model, const Adapters& adapters, const DecoderOptions& options) : adapters_(adapters) {
    llama_context_params params =
        decoder_context_params(static_cast<uint32_t>(model.trained_context_length()), options);
    n_outputs_max_             = params.n_outputs_max;
    params.abort_callback      = [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); };
    params.abort_callback_data = &aborted_;

    const std::string size = "of " + std::to_string(params.n_ctx) + " cells";
    context_.reset(open_context(model.handle(), params, options.context, size));
    truncation_   = truncation_of(model.handle());
    n_embd_       = static_cast<size_t>(llama_model_n_embd_inp(model.handle()));
    generates_    = has_memory() && model.is_causal();
    if (options.has_hidden_rows) hidden_rows_ = std::make_unique<HiddenRows>(context_.get());
    asynchronous_ = model.computes_asynchronously();
    threadpool_ = attach_threadpool(context_.get(), std::max(params.n_threads, params.n_threads_batch), kPoll);
    batch_ = std::make_unique<llama_batch>(llama_batch_init(static_cast<int32_t>(n_batch()), 0, 1));
    warm_up(first_token(model.vocab()), options.threads == 0);
    if (!generates_) return;
    measure_snapshots(first_token(model.vocab()));
    batch_invariant_ = chasqui::batch_invariant(model, context_.get(), params.n_outputs_max);
}

Decoder::~Decoder() {
    if (batch_) llama_batch_free(*batch_);
}

// Computes and discards a token, which loads the weights into memory before the first request. In very small models,
// threads spend more time on synchronisation than on computing; then fewer threads are chosen.
void Decoder::warm_up(TokenId token, bool choose_threads) {
    const auto fastest_of = [&](int n_times) {
        double fastest = std::numeric_limits<double>::infinity();
        for (int i = 0; i < n_times; ++i) {
            const auto started = Clock::now();
            batch_->n_tokens   = 0;
            add_token(token, 0, 0, true);
            if (llama_decode(context_.get(), *batch_) != 0) return fastest;
            llama_synchronize(context_.get());
            fastest = std::min(fastest, std::chrono::duration<double, std::milli>(Clock::now() - started).count());
            trim(0, 0);
        }
        return fastest;
    };
    const int32_t all     = decode_threads();
    const int32_t batch   = threads();
    int32_t       chosen  = all;
    double        fastest = fastest_of(3);
    for (int32_t fewer = all / 2; choose_threads && fewer >= 1 && fastest < kSmallStepMs; fewer /= 2) {
        llama_set_n_threads(context_.get(), fewer, batch);
        const double milliseconds = fastest_of(5);
        if (milliseconds > kClearlyFaster * fastest) break;
        fastest = milliseconds;
        chosen  = fewer;
    }
    llama_set_n_threads(context_.get(), chosen, batch);
}

// The second token shows the bytes per token; the rest of the first snapshot does not depend on the number of tokens.
void Decoder::measure_snapshots(TokenId token) {
    size_t sizes[2] = {};
    for (int32_t position = 0; position < 2; ++position) {
        batch_->n_tokens = 0;
        add_token(token, position, 0, true);
        if (llama_decode(context_.get(), *batch_) != 0) {
            throw Error(ErrorCode::out_of_memory, "llama.cpp could not compute a token: " + take_last_errors());
        }
        sizes[position] = llama_state_seq_get_size(context_.get(), 0);
    }
    trim(0, 0);
    bytes_per_token_    = sizes[1] - std::min(sizes[0], sizes[1]);
    bytes_per_snapshot_ = sizes[0] - std::min(sizes[0], bytes_per_token_);
}

void Decoder::add_token(TokenId token, int32_t position, int32_t slot, bool output) {
    const auto at         = static_cast<size_t>(batch_->n_tokens++);
    batch_->token[at]     = token;
    batch_->pos[at]       = position;
    batch_->n_seq_id[at]  = 1;
    batch_->seq_id[at][0] = slot;
    batch_->logits[at]    = output;
}

void Decoder::add_row(const PlanRow& row) {
    const Sequence& sequence    = *row.sequence;
    const size_t    first_output = row.n_tokens + row.draft.size() - row.n_outputs();
    int32_t         position     = sequence.position(sequence.n_computed);
    output_rows_.push_back(batch_->n_tokens + static_cast<int32_t>(first_output));
    for (size_t i = 0; i < row.n_tokens; ++i, ++position) {
        add_token(sequence.tokens[sequence.n_computed + i], position, sequence.slot, i >= first_output);
    }
    for (const TokenId token : row.draft) add_token(token, position++, sequence.slot, true);
}

void Decoder::decode(const std::vector<PlanRow>& rows) {
    submit(rows);
    finish(rows);
}

void Decoder::submit(const std::vector<PlanRow>& rows) {
    last_copied_ = {};
    output_rows_.clear();
    logits_.clear();
    apply_adapters(rows);
    if (hidden_rows_) hidden_rows_->before(rows);
    const ImageChunk* chunk = rows.size() == 1 ? rows[0].sequence->next_chunk() : nullptr;
    if (chunk == nullptr) compute(rows);
    else compute_image(rows[0], *chunk);
}

void Decoder::finish(const std::vector<PlanRow>& rows) {
    llama_synchronize(context_.get());
    look_up_logits(rows);
    if (hidden_rows_) hidden_rows_->look_up(rows);
}

void Decoder::apply_adapters(const std::vector<PlanRow>& rows) {
    const AdapterSet& adapters = rows[0].sequence->job().adapters;
    for (const PlanRow& row : rows) {
        if (row.sequence->job().adapters == adapters) continue;
        throw Error(ErrorCode::decode_failed, "The step's plan mixes sequences of different adapters.");
    }
    adapters_.apply(context_.get(), adapters);
}

void Decoder::compute(const std::vector<PlanRow>& rows) {
    batch_->n_tokens = 0;
    size_t n_tokens = 0, n_outputs = 0;
    for (const PlanRow& row : rows) {
        n_tokens += row.n_tokens + row.draft.size();
        n_outputs += row.n_outputs();
        const size_t end = row.sequence->n_computed + row.n_tokens + row.draft.size();
        if (n_tokens > n_batch() || n_outputs > n_outputs_max_ || end > context_length()) {
            throw Error(ErrorCode::decode_failed, "The step's plan is larger than the batch or the context.");
        }
        if (row.n_tokens > row.sequence->run_length()) {
            throw Error(ErrorCode::decode_failed, "The step's plan mixes text and images.");
        }
        add_row(row);
    }
    run(*batch_);
}

// Computes a slice of an image: its rows replace token embeddings.
void Decoder::compute_image(const PlanRow& row, const ImageChunk& chunk) {
    const Sequence& sequence = *row.sequence;
    const size_t    from = sequence.n_computed - chunk.begin, n_tokens = row.n_tokens;
    const auto&     embeddings = sequence.embeddings[chunk.image];
    const bool      whole      = chunk.is_indivisible;
    if (embeddings == nullptr || chunk.part >= embeddings->size() ||
        (*embeddings)[chunk.part].size() != chunk.n_tokens * n_embd_) {
        throw Error(ErrorCode::decode_failed, "The image was encoded to another size than its place has.");
    }
    if (n_tokens == 0 || from + n_tokens > chunk.n_tokens || n_tokens > n_batch() ||
        (whole && (n_tokens != chunk.n_tokens || n_tokens > n_ubatch()))) {
        throw Error(ErrorCode::decode_failed, "The step's plan cuts an image where it cannot be cut.");
    }
    output_rows_.push_back(static_cast<int32_t>(n_tokens) - 1);
    const auto      outputs = row.reaches_end() ? ImageBatch::Outputs::last : ImageBatch::Outputs::none;
    ImageBatch      batch(chunk, (*embeddings)[chunk.part], from, n_tokens, sequence.slot, outputs);
    const NonCausal guard(context_.get(), whole);
    run(batch.view());
}

void Decoder::run(const llama_batch& batch) {
    take_last_errors();
    const uint64_t n_passes_before = chasqui_passes();
    const int32_t  result          = llama_decode(context_.get(), batch);
    n_passes_ += chasqui_passes() - n_passes_before;
    if (result == 0) return;
    if (aborted_) throw Error(ErrorCode::engine_closed, "The engine was closed.");
    const std::string said = take_last_errors();
    throw Error(failure_code(said, ErrorCode::decode_failed),
                "llama_decode failed with " + std::to_string(result) + ": " + said);
}

// The first llama_get_logits_ith after a decode may swap whole rows, so all pointers are taken here, on one thread.
void Decoder::look_up_logits(const std::vector<PlanRow>& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
        std::vector<float*>& found     = logits_.emplace_back();
        const size_t         n_outputs = rows[i].n_outputs();
        for (size_t output = 0; output < n_outputs; ++output) {
            const int32_t row = output_rows_[i] + static_cast<int32_t>(output);
            found.push_back(llama_get_logits_ith(context_.get(), row));
            if (found.back() == nullptr) throw Error(ErrorCode::decode_failed, "llama.cpp computed no logits.");
        }
    }
}

float* Decoder::logits(size_t plan_row, size_t output) const {
    const std::vector<float*>& of_row = logits_[plan_row];
    return output < of_row.size() ? of_row[output] : nullptr;
}

bool Decoder::place(const Placement& placement) {
    // The copy of this slot becomes outdated.
    if (last_copied_.slot == placement.slot) last_copied_ = {};
    for (const int32_t id : placement.evicted) snapshots_.erase(id);
    if (placement.save_as >= 0) save_as(placement.save_as, placement.slot);
    bool loaded = true;
    switch (placement.source) {
        case Placement::Source::none:
        case Placement::Source::in_place: break;
        case Placement::Source::slot: loaded = load_copy(placement.slot, placement.source_id); break;
        case Placement::Source::snapshot: loaded = load_snapshot(placement.slot, placement.source_id); break;
    }
    const auto last_position = [&] { return llama_memory_seq_pos_max(llama_get_memory(context_.get()), placement.slot); };
    // A restored recurrent state has no rollback snapshots, but llama.cpp would still accept the rollback. Require an
    // exact match.
    const bool is_whole = truncation_ != Truncation::never || placement.next_position == 0 ||
                          last_position() == placement.last_kept_position;
    if (loaded && is_whole && last_position() >= placement.last_kept_position &&
        trim(placement.slot, placement.next_position) && last_position() == placement.last_kept_position) {
        return true;
    }
    trim(placement.slot, 0);
    return false;
}

void Decoder::drop(const std::vector<int32_t>& ids) {
    for (const int32_t id : ids) {
        if (static_cast<uint32_t>(id) < n_slots()) {
            trim(id, 0);
        } else {
            snapshots_.erase(id);
        }
    }
    last_copied_ = {};
}

void Decoder::save(const Snapshot& snapshot) {
    for (const int32_t id : snapshot.evicted) snapshots_.erase(id);
    save_as(snapshot.id, snapshot.slot);
}

// Without memory the snapshot is skipped: the sequence that wants it computes its tokens.
void Decoder::save_as(int32_t id, int32_t slot) {
    try {
        snapshots_[id] = std::make_shared<const SnapshotBuffer>(save(slot));
    } catch (const std::exception&) {
        snapshots_.erase(id);
    }
}

void Decoder::adopt(const Snapshot& snapshot, std::shared_ptr<const SnapshotBuffer> state) {
    for (const int32_t id : snapshot.evicted) snapshots_.erase(id);
    snapshots_[snapshot.id] = std::move(state);
}

std::shared_ptr<const SnapshotBuffer> Decoder::state_of(int32_t id) {
    const auto found = snapshots_.find(id);
    if (found != snapshots_.end()) return found->second;
    if (id < 0 || id >= static_cast<int32_t>(n_slots())) return nullptr;
    try {
        return std::make_shared<const SnapshotBuffer>(save(id));
    } catch (const std::exception&) {
        return nullptr;
    }
}

SnapshotBuffer Decoder::save(int32_t slot) {
    SnapshotBuffer state(llama_state_seq_get_size(context_.get(), slot));
    state.shrink_to(llama_state_seq_get_data(context_.get(), state.data(), state.size(), slot));
    return state;
}

// Loading a state without cells would leave the slot's old cells in place, so they are removed first.
bool Decoder::load(int32_t slot, const SnapshotBuffer& state) {
    trim(slot, 0);
    return state.size() > 0 && llama_state_seq_set_data(context_.get(), state.data(), state.size(), slot) != 0;
}

bool Decoder::load_snapshot(int32_t slot, int32_t id) {
    const auto found = snapshots_.find(id);
    return found != snapshots_.end() && load(slot, *found->second);
}

// Copies through main memory, because llama_memory_seq_cp would copy all cells of the context, however few are in use.
bool Decoder::load_copy(int32_t slot, int32_t source) {
    try {
        if (last_copied_.slot != source) last_copied_ = {source, save(source)};
    } catch (const std::exception&) {
        return false;  // no memory for the copy
    }
    return load(slot, last_copied_.state);
}

bool Decoder::trim(int32_t slot, int32_t position) {
    llama_memory_t memory = llama_get_memory(context_.get());
    if (llama_memory_seq_pos_max(memory, slot) < position) return true;
    // Removing everything never fails; a part of a recurrent state cannot be removed.
    return llama_memory_seq_rm(memory, slot, position == 0 ? -1 : position, -1);
}

bool Decoder::has_memory() const { return llama_get_memory(context_.get()) != nullptr; }

size_t Decoder::n_rollback() const {
    return truncation_ == Truncation::never ? llama_n_rs_seq(context_.get()) : context_length();
}

uint32_t Decoder::context_length() const { return llama_n_ctx_seq(context_.get()); }
uint32_t Decoder::n_slots() const { return llama_n_seq_max(context_.get()); }
int32_t Decoder::threads() const { return llama_n_threads_batch(context_.get()); }
int32_t Decoder::decode_threads() const { return llama_n_threads(context_.get()); }
uint32_t Decoder::n_batch() const { return llama_n_batch(context_.get()); }
uint32_t Decoder::n_ubatch() const { return llama_n_ubatch(context_.get()); }

}  // namespace chasqui
