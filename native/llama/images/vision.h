// Thread: prepare() any; encode() always the same one.
#pragma once

#include "../../core/encode-queue.h"
#include "../../core/media.h"
#include "../chat/control-tokens.h"
#include "../model/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct ggml_tensor;
struct mtmd_context;

namespace chasqui {

struct VisionOptions {
    std::string path;                             // the projector's GGUF file; empty: none
    bool        offload     = true;               // to a GPU
    std::string device;                           // name in ggml; empty: the model's main device; none: the CPU
    size_t      cache_bytes = size_t{256} << 20;  // for embeddings
    int32_t     threads     = 0;                  // 0: one per physical core
};

// A prompt's tokens, including those of its images.
struct PreparedPrompt {
    std::vector<TokenId>         tokens;
    std::shared_ptr<const Media> media;  // nullptr: no images
};

// A model's encoders of images and audio with their projectors, by llama.cpp's mtmd. mtmd aborts on misuse, so every
// condition is checked here before the call.
class Vision {
public:
    // Throws `model_file_missing`, `model_file_invalid`, `model_load_failed`, or `engine_closed` if aborted.
    Vision(const Model& model, const VisionOptions& options, const Model::Progress& progress);

    // Tokenizes a rendered prompt that contains marker() once per image. Reads only the sizes of `images`. Throws
    // `invalid_image`, or `template_failed` if markers and images do not match.
    PreparedPrompt prepare(const std::vector<PromptPart>&                         prompt,
                           const std::vector<std::shared_ptr<const ImageSource>>& images) const;
    // Decodes and encodes an image, for a place in the prompt where it has `n_tokens`. Takes seconds on a CPU, where it calls `yield` between operations. Throws
    // `invalid_image`, `decode_failed`, or `engine_closed` if `yield` returned false.
    ImageEmbeddings encode(const ImageSource& source, size_t n_tokens, const EncodeQueue::Yield& yield);
    // Lowers the priority of the calling thread and of those that it starts.
    static void lower_priority();

    // Whether an operation takes so long on a CPU that others should have their turn after it.
    static bool yields_after(const ggml_tensor& operation);
    // Whether encode() calls `yield`, which it does on the CPU only.
    bool can_yield() const { return can_yield_; }
    // The placeholder of an image in a prompt: random, so no message can contain it.
    const std::string& marker() const { return marker_; }
    // Whether it encodes images, and audio.
    bool     sees() const { return sees_; }
    bool     hears() const { return sample_rate_ > 0; }
    uint32_t sample_rate() const { return sample_rate_; }  // of audio, in Hz; 0: none
    // Whether attention among an image's tokens is not causal, so they must be computed at once.
    bool is_indivisible() const;

private:
    struct Free {
        void operator()(mtmd_context* context) const;
    };

    void        check_source(const ImageSource& source) const;
    static bool on_operation(ggml_tensor* operation, bool ask, void* vision);

    std::string                         marker_;
    std::string                         filler_;  // the text of one token; empty: unknown
    bool                                can_yield_ = false;
    const EncodeQueue::Yield*           yield_     = nullptr;  // while encoding
    bool                                gave_up_   = false;
    std::unique_ptr<mtmd_context, Free> context_;
    size_t                              n_embd_      = 0;
    bool                                sees_        = false;
    uint32_t                            sample_rate_ = 0;
};

}  // namespace chasqui
