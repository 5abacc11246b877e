// The part of the engine that opens it and calculates its memory.
#include "engine.h"

#include "llama/system/system.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace chasqui {

namespace {

constexpr int kSlowSamplerNiceness = 10;
// Minimum budget for KV cells.
constexpr size_t kMinCells = 256;

// Prompt lookup was measured on CPUs only, so it may have to be enabled explicitly on GPUs.
DraftOptions drafts_on(const Offload& offload, const EngineOptions& options) {
    DraftOptions draft = options.draft;
    if (!draft.on_gpus && !offload.devices().empty()) draft.n_max = 0;
    return draft;
}

DecoderOptions decoder_options(const EngineOptions& options, const Offload& offload, const Vision* vision) {
    DecoderOptions decoder  = options.decoder;
    const size_t   n_drafts = options.deterministic ? 0 : Drafter::max_outputs(drafts_on(offload, options));
    decoder.n_draft_outputs = static_cast<uint32_t>(n_drafts);
    decoder.has_hidden_rows = options.draft.mtp;
    decoder.n_rollback      = static_cast<uint32_t>(options.draft.mtp ? options.draft.n_max : 0);
    if (vision != nullptr && vision->is_indivisible()) decoder.n_ubatch = decoder.n_batch;
    return decoder;
}

std::unique_ptr<Vision> load_vision(const Model& model, const VisionOptions& options, const Model::Progress& progress) {
    return options.path.empty() ? nullptr : std::make_unique<Vision>(model, options, progress);
}

DraftOptions draft_options(const EngineOptions& options, const Offload& offload) {
    DraftOptions draft = drafts_on(offload, options);
    // An MTP layer is a layer of the model.
    if (draft.mtp) draft.context.rope = options.decoder.context.rope;
    if (!options.deterministic) return draft;
    if (!draft.computes()) return {};
    throw Error(ErrorCode::invalid_options, std::string(draft.mtp ? "`specType`" : "`draftModel`") +
                                                " drafts several tokens at a time, which `deterministic` excludes. "
                                                "Omit one of them.");
}

// The embedder gets as many threads as the decoder.
EmbedderOptions for_embedding(const EngineOptions& options, const Decoder& decoder) {
    EmbedderOptions embedder = options.embedder;
    embedder.n_batch         = options.decoder.n_ubatch;
    embedder.threads         = options.decoder.threads;
    // Other cache options are irrelevant: the embedder has few cells or none.
    embedder.context.flash_attention = options.decoder.context.flash_attention;
    embedder.context.kv_offload      = options.decoder.context.kv_offload;
    embedder.context.op_offload      = options.decoder.context.op_offload;
    embedder.context.rope            = options.decoder.context.rope;
    embedder.has_memory      = decoder.has_memory();
    embedder.takes_turns     = decoder.generates();
    return embedder;
}

// Main memory is committed lazily, so the system would grant more cells than it can ever provide.
void check_main_memory(const Model& model, const Decoder& decoder) {
    const size_t available = main_memory_bytes();
    const double wanted    = static_cast<double>(decoder.bytes_per_token()) * decoder.context_length() * decoder.n_slots();
    if (!model.offload().devices().empty() || available == 0 || wanted <= static_cast<double>(available)) return;
    constexpr double mib = 1 << 20;
    throw Error(ErrorCode::out_of_memory,
                "insufficient memory: the KV cells of " + std::to_string(decoder.n_slots()) + " sequences of " +
                    std::to_string(decoder.context_length()) + " tokens take " +
                    std::to_string(std::llround(wanted / mib)) + " MiB, and this machine has " +
                    std::to_string(available >> 20) +
                    " MiB. A smaller context or fewer parallel sequences need less memory, and with `kvBudgetMiB` they "
                    "share that amount.");
}

// Cells within the budget; 0: enough for all slots.
size_t affordable_cells(const EngineOptions& options, const Model& model, const Decoder& decoder) {
    const size_t bytes = decoder.bytes_per_token();
    if (options.kv_budget_bytes == 0) check_main_memory(model, decoder);
    if (options.kv_budget_bytes == 0 || bytes == 0) return 0;
    const size_t n_cells = options.kv_budget_bytes / bytes;
    if (n_cells >= size_t{decoder.context_length()} * decoder.n_slots()) return 0;
    if (n_cells >= kMinCells) return n_cells;
    throw Error(ErrorCode::invalid_options, "`kvBudgetMiB` is enough for " + std::to_string(n_cells) +
                                                " tokens of this model. Give it " +
                                                std::to_string(((kMinCells * bytes) >> 20) + 1) + " MiB at least.");
}

uint32_t longest_sequence(const Decoder& decoder, size_t max_cells) {
    if (max_cells == 0) return decoder.context_length();
    return static_cast<uint32_t>(std::min<size_t>(max_cells, decoder.context_length()));
}

}  // namespace

static FitRequest fit_request(const std::string& path, const EngineOptions& options, size_t spare_bytes) {
    const Offload  offload(options.offload);
    DecoderOptions decoder = decoder_options(options, offload, nullptr);
    // Only the loaded projector knows whether images can be computed in slices. Reserve memory for whole ones.
    if (!options.vision.path.empty()) decoder.n_ubatch = decoder.n_batch;
    return {path,        options.offload, decoder, options.vision, draft_options(options, offload), kMaxDraftedSequences,
            spare_bytes, options.kv_budget_bytes};
}

OffloadOptions fit_to_memory(const std::string& path, const EngineOptions& options, size_t spare_bytes) {
    return fit_to_memory(fit_request(path, options, spare_bytes));
}

std::vector<DeviceMemory> measure_memory(const std::string& path, const EngineOptions& options) {
    return measure_memory(fit_request(path, options, 0));
}

Engine::Engine(const std::string& path, const EngineOptions& options, const Model::Progress& progress)
    : files_identity_(identity_of_files(path, options)),
      model_(path, options.offload, progress),
      adapters_(model_, options.adapters),
      preparer_(model_, options.chat_template),
      tokenizer_(preparer_.tokenizer()),
      breakers_(tokenizer_),
      vision_(load_vision(model_, options.vision, progress)),
      decoder_(model_, adapters_, decoder_options(options, model_.offload(), vision_.get())),
      // From 1 to 2: the model's own progress has reached 1.
      drafter_(draft_options(options, model_.offload()), options.target_step_ms, model_, tokenizer_, decoder_,
               [&](float fraction) { return progress(1.0f + fraction); }),
      embedder_(model_, for_embedding(options, decoder_)),
      max_cells_(affordable_cells(options, model_, decoder_)),
      context_length_(longest_sequence(decoder_, max_cells_)),
      n_slots_(decoder_.n_slots()),
      n_draft_max_(options.draft.n_max),
      scheduler_({decoder_.n_batch(),
                  options.target_step_ms,
                  {decoder_.n_slots(), decoder_.bytes_per_token(), options.cache_ram_bytes,
                   decoder_.bytes_per_snapshot(), decoder_.truncation(), max_cells_},
                  decoder_.n_outputs_max(),
                  options.deterministic}),
      samplers_(static_cast<size_t>(decoder_.threads()) - 1),
      slow_samples_([] { lower_thread_priority(kSlowSamplerNiceness); },
                    [this](auto sample) { mailbox_.put(std::move(sample)); }) {
    count();
    if (vision_) {
        image_encoder_ = std::make_unique<ImageEncoder>(
            options.vision.cache_bytes, Vision::lower_priority,
            [this](const ImageSource& source, size_t n_tokens, const auto& yield) {
                return vision_->encode(source, n_tokens, yield);
            },
            [this](EncodeResult result) {
                // First, so that the image is cached when a request that follows the embedding looks for it.
                mailbox_.put(result);
                embedder_.deliver(result);
            });
    }
    open_disk_cache(options);
    thread_ = std::thread([this] { run(); });
}

}  // namespace chasqui
