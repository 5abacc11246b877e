#include "vision.h"

#include "../../core/error-code.h"
#include "../decoding/context-params.h"
#include "../audio/audio-file.h"
#include "image-file.h"
#include "../system/log.h"
#include "../system/system.h"

#include <common.h>
#include <hash/hash.h>
#include <llama.h>
#include <mtmd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <utility>

namespace chasqui {

namespace {

// Decoding and scaling image files has a lower priority than the engine's steps and the JavaScript thread.
constexpr int kNiceness = 5;
constexpr size_t kMaxPadding = 3;  // in tokens

std::string random_marker() {
    constexpr char     digits[] = "0123456789abcdef";
    std::random_device random;
    std::string        marker = "<__image_";
    for (int i = 0; i < 32; ++i) marker += digits[random() % 16];
    return marker + "__>";
}

// Splits the text at each image, so an image follows each piece except the last.
std::vector<std::vector<PromptPart>> split(const std::vector<PromptPart>& prompt, const std::string& marker) {
    std::vector<std::vector<PromptPart>> pieces(1);
    for (const PromptPart& part : prompt) {
        for (size_t from = 0;; pieces.emplace_back()) {
            const size_t at = part.text.find(marker, from);
            pieces.back().push_back({part.text.substr(from, at - from), part.parses_special});
            if (at == std::string::npos) break;
            from = at + marker.size();
        }
    }
    return pieces;
}

ImageDigest digest_of(const ImageSource& source, size_t n_tokens) {
    std::string parts = hash_sha256_hex(source.bytes.data(), source.bytes.size()) + " " + std::to_string(n_tokens);
    if (source.is_audio) parts += " audio";
    if (source.width > 0) parts += " " + std::to_string(source.width) + "x" + std::to_string(source.height);
    return hash_sha256_hex(parts.data(), parts.size());
}

bool is_text(const mtmd_input_chunk* chunk) { return mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT; }

size_t count_image_tokens(const mtmd::input_chunks_ptr& chunks) {
    size_t n_tokens = 0;
    for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
        const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks.get(), i);
        if (!is_text(chunk)) n_tokens += mtmd_input_chunk_get_n_tokens(chunk);
    }
    return n_tokens;
}

// Without samples: only their number, which determines the tokens.
mtmd::bitmap to_bitmap(const ImageSource& source, bool with_content) {
    if (source.is_audio) {
        const size_t       n_samples = source.bytes.size() / sizeof(int16_t);
        std::vector<float> samples(with_content ? n_samples : 0);
        for (size_t i = 0; i < samples.size(); ++i) {
            int16_t sample;
            std::memcpy(&sample, source.bytes.data() + i * sizeof(sample), sizeof(sample));
            samples[i] = static_cast<float>(sample) / 32768.0f;
        }
        return mtmd::bitmap(mtmd_bitmap_init_from_audio(n_samples, with_content ? samples.data() : nullptr));
    }
    if (!with_content) {
        const ImageSize size = inspect_image(source);
        return {size.width, size.height, nullptr};
    }
    const Pixels pixels = decode_image(source);
    return {pixels.size.width, pixels.size.height, pixels.rgb.get()};
}

// The text of a token that is not a part of other tokens.
std::string filler_of(const llama_vocab* vocab) {
    for (const llama_token token : {llama_vocab_eos(vocab), llama_vocab_bos(vocab)}) {
        if (token != LLAMA_TOKEN_NULL) return llama_vocab_get_text(vocab, token);
    }
    return {};
}

// Tokenizes alternating texts and images with mtmd: an image follows each text except the last.
mtmd::input_chunks_ptr tokenize(const mtmd_context* context, const std::vector<std::vector<PromptPart>>& texts,
                                const mtmd::bitmaps& images, bool add_special) {
    std::deque<mtmd_input_text>  inputs;
    std::vector<mtmd_input_part> parts;
    for (size_t i = 0; i < texts.size(); ++i) {
        for (const auto& [text, parses_special] : texts[i]) {
            inputs.push_back({text.data(), text.size(), add_special, parses_special});
            parts.push_back({&inputs.back(), nullptr});
        }
        if (i < images.entries.size()) parts.push_back({nullptr, images.entries[i].ptr.get()});
    }
    std::vector<const mtmd_input_part*> pointers;
    for (const mtmd_input_part& part : parts) pointers.push_back(&part);

    take_last_errors();
    mtmd::input_chunks_ptr chunks(mtmd_input_chunks_init());
    if (mtmd_tokenize_from_parts(context, chunks.get(), pointers.data(), pointers.size(), add_special) != 0) {
        throw Error(ErrorCode::invalid_image,
                    "The image or audio could not be prepared for the model: " + take_last_errors());
    }
    return chunks;
}

std::vector<int32_t> positions_of(const mtmd_image_tokens* image, size_t n_tokens, int32_t first) {
    std::vector<int32_t> positions(4 * n_tokens);
    for (size_t i = 0; i < n_tokens; ++i) {
        const mtmd_decoder_pos at   = mtmd_image_tokens_get_decoder_pos(image, first, i);
        positions[i]                = static_cast<int32_t>(at.t);
        positions[n_tokens + i]     = static_cast<int32_t>(at.y);
        positions[2 * n_tokens + i] = static_cast<int32_t>(at.x);
        positions[3 * n_tokens + i] = static_cast<int32_t>(at.z);
    }
    return positions;
}

// Audio has the positions of text.
std::vector<int32_t> positions_of_audio(size_t n_tokens, int32_t first) {
    std::vector<int32_t> positions(4 * n_tokens);
    for (size_t i = 0; i < positions.size(); ++i) positions[i] = first + static_cast<int32_t>(i % n_tokens);
    return positions;
}

}  // namespace

void Vision::Free::operator()(mtmd_context* context) const { mtmd_free(context); }

mtmd_context_params vision_context_params(const VisionOptions& options, const Offload& offload) {
    mtmd_context_params params = mtmd_context_params_default();
    ggml_backend_dev_t  device = nullptr;
    if (options.offload && options.device.empty()) device = offload.main_device();
    else if (options.offload && options.device != "none") device = find_gpu(options.device);
    params.use_gpu             = device != nullptr;
    params.device              = device;
    params.print_timings       = false;
    params.n_threads           = options.threads > 0 ? options.threads : common_cpu_get_num_math();
    return params;
}

Vision::Vision(const Model& model, const VisionOptions& options, const Model::Progress& progress)
    : marker_(random_marker()),
      filler_(filler_of(model.vocab())),
      n_embd_(static_cast<size_t>(llama_model_n_embd_inp(model.handle()))) {
    check_gguf_file(options.path, "mmproj");
    struct ProgressCall {
        const Model::Progress& progress;
        bool                   aborted = false;
    } call{progress};
    mtmd_context_params params         = vision_context_params(options, model.offload());
    can_yield_                         = !params.use_gpu;
    if (can_yield_) {
        params.cb_eval           = on_operation;
        params.cb_eval_user_data = this;
    }
    params.media_marker                = marker_.c_str();
    params.progress_callback_user_data = &call;
    params.progress_callback           = [](float, void* data) {
        auto* to = static_cast<ProgressCall*>(data);
        to->aborted |= !to->progress(1.0f);
        return !to->aborted;
    };
    take_last_errors();
    context_.reset(mtmd_init_from_file(options.path.c_str(), model.handle(), params));
    if (call.aborted) throw Error(ErrorCode::engine_closed, "Loading the model was aborted.");
    if (!context_) {
        const std::string said = take_last_errors();
        throw Error(failure_code(said),
                    "The projector " + options.path + " cannot be used with " + model.path() + ": " + said);
    }
    sees_        = mtmd_support_vision(context_.get());
    sample_rate_ = static_cast<uint32_t>(std::max(mtmd_get_audio_sample_rate(context_.get()), 0));
    if (!sees_ && !hears()) {
        throw Error(ErrorCode::model_load_failed, "The projector " + options.path + " has no encoder of images or audio.");
    }
}

// mtmd aborts on images and audio without their encoder, and on very short audio.
void Vision::check_source(const ImageSource& source) const {
    if (source.is_audio && !hears()) throw Error(ErrorCode::audio_not_supported, "The model takes no audio.");
    if (!source.is_audio && !sees_) throw Error(ErrorCode::image_not_supported, "The model takes no images.");
    if (source.is_audio && source.bytes.size() < sizeof(int16_t) * sample_rate_ / kMinAudioSamplesPerSecond) {
        throw Error(ErrorCode::invalid_audio, "The audio is shorter than a tenth of a second.");
    }
}

bool Vision::is_indivisible() const { return mtmd_decode_use_non_causal(context_.get(), nullptr); }

PreparedPrompt Vision::prepare(const std::vector<PromptPart>&                         prompt,
                               const std::vector<std::shared_ptr<const ImageSource>>& images) const {
    const auto texts = split(prompt, marker_);
    if (texts.size() != images.size() + 1) {
        throw Error(ErrorCode::template_failed, "The chat template put " + std::to_string(texts.size() - 1) + " of " +
                                                    std::to_string(images.size()) + " images into the prompt.");
    }
    auto          media = std::make_shared<Media>();
    mtmd::bitmaps placeholders;
    for (size_t i = 0; i < images.size(); ++i) {
        try {
            check_source(*images[i]);
            placeholders.entries.push_back(to_bitmap(*images[i], false));
            placeholders.entries.back().set_id(std::to_string(i).c_str());
            media->images.push_back({{}, images[i]});
        } catch (const Error& error) {
            throw Error(error.code(), error.what(), i);
        }
    }
    const auto chunks = tokenize(context_.get(), texts, placeholders, true);

    for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
        const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks.get(), i);
        if (is_text(chunk)) continue;
        const size_t image    = std::stoul(mtmd_input_chunk_get_id(chunk));
        const size_t n_tokens = mtmd_input_chunk_get_n_tokens(chunk);
        if (n_tokens == 0) throw Error(ErrorCode::invalid_audio, "The audio is too short for the model.", image);
        media->images[image].n_tokens += n_tokens;
    }
    for (PromptImage& image : media->images) image.digest = digest_of(*image.source, image.n_tokens);

    PreparedPrompt      prepared;
    std::vector<size_t> n_parts(images.size(), 0);
    int32_t             position = 0;
    for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
        const mtmd_input_chunk* chunk    = mtmd_input_chunks_get(chunks.get(), i);
        const size_t            n_tokens = mtmd_input_chunk_get_n_tokens(chunk);
        const int32_t           n_pos    = mtmd_input_chunk_get_n_pos(chunk);
        if (!is_text(chunk)) {
            const mtmd_image_tokens* tokens = mtmd_input_chunk_get_tokens_image(chunk);
            const size_t             image  = std::stoul(mtmd_input_chunk_get_id(chunk));
            ImageChunk added{prepared.tokens.size(), n_tokens, image, n_parts[image]++, position, n_pos, {}};
            added.is_indivisible = mtmd_decode_use_non_causal(context_.get(), chunk);
            if (mtmd_decode_use_mrope(context_.get())) {
                added.positions = tokens == nullptr ? positions_of_audio(n_tokens, position)
                                                    : positions_of(tokens, n_tokens, position);
            }
            for (size_t at = 0; at < n_tokens; ++at) {
                prepared.tokens.push_back(image_token(media->images[image].digest, added.part, at));
            }
            media->chunks.push_back(std::move(added));
        } else {
            size_t             n_text = 0;
            const llama_token* text   = mtmd_input_chunk_get_tokens_text(chunk, &n_text);
            prepared.tokens.insert(prepared.tokens.end(), text, text + n_text);
        }
        position += n_pos;
    }
    prepared.media = std::move(media);
    return prepared;
}

// Matrix products and attention take nearly all of the time.
bool Vision::yields_after(const ggml_tensor& operation) {
    return operation.op == GGML_OP_MUL_MAT || operation.op == GGML_OP_MUL_MAT_ID ||
           operation.op == GGML_OP_FLASH_ATTN_EXT;
}

// ggml calls this before each operation, to ask whether to report its end, and then again afterwards.
bool Vision::on_operation(ggml_tensor* operation, bool ask, void* vision) {
    auto* self = static_cast<Vision*>(vision);
    if (self->yield_ == nullptr) return !ask;
    if (ask) return yields_after(*operation);
    self->gave_up_ |= !(*self->yield_)();
    return !self->gave_up_;
}

ImageEmbeddings Vision::encode(const ImageSource& source, size_t n_tokens, const EncodeQueue::Yield& yield) {
    struct Reset {
        const EncodeQueue::Yield*& current;
        ~Reset() { current = nullptr; }
    } reset{yield_};
    yield_ = &yield;
    mtmd::bitmaps image;
    image.entries.push_back(to_bitmap(source, true));
    // DeepSeek-V4's projector aligns the image to four tokens of the whole prompt by padding. The same padding results
    // behind a text of up to three tokens.
    std::vector<PromptPart> before;
    auto                    chunks = tokenize(context_.get(), {before, {}}, image, false);
    while (before.size() < kMaxPadding && count_image_tokens(chunks) != n_tokens) {
        before.push_back({filler_, true});
        chunks = tokenize(context_.get(), {before, {}}, image, false);
    }
    if (count_image_tokens(chunks) != n_tokens) {
        throw Error(ErrorCode::decode_failed, "The image has another number of tokens than its place in the prompt.");
    }
    ImageEmbeddings embeddings;
    for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
        const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks.get(), i);
        if (is_text(chunk)) continue;
        take_last_errors();
        gave_up_ |= can_yield_ && !yield();
        const bool encoded = !gave_up_ && mtmd_encode_chunk(context_.get(), chunk) == 0;
        if (gave_up_) throw Error(ErrorCode::engine_closed, "The engine was closed.");
        if (!encoded) throw Error(ErrorCode::decode_failed, "The image could not be encoded: " + take_last_errors());
        const float* rows = mtmd_get_output_embd(context_.get());
        embeddings.emplace_back(rows, rows + mtmd_input_chunk_get_n_tokens(chunk) * n_embd_);
    }
    return embeddings;
}

void Vision::lower_priority() { lower_thread_priority(kNiceness); }

}  // namespace chasqui
