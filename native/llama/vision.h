// Thread: prepare() any; encode() one, the same each time.
#pragma once

#include "../core/encode-queue.h"
#include "../core/media.h"
#include "model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct ggml_tensor;
struct mtmd_context;

namespace chasqui {

struct VisionOptions {
    std::string path;                             // of the projector's GGUF file; empty: none
    size_t      cache_bytes = size_t{256} << 20;  // for embeddings
    int32_t     threads     = 0;                  // 0: one per physical core
};

// A prompt's tokens, with pictures among them.
struct PreparedPrompt {
    std::vector<TokenId>         tokens;
    std::shared_ptr<const Media> media;  // nullptr: none
};

// The eyes of a model: its vision encoder and projector, by llama.cpp's mtmd, which ends the process when it is
// misused; every condition is checked here before the call.
class Vision {
public:
    // Throws `model_file_missing`, `model_file_invalid`, `model_load_failed`, or `engine_closed` when aborted.
    Vision(const Model& model, const VisionOptions& options, const Model::Progress& progress);

    // Tokenizes a rendered prompt that holds marker() once for each of `images`. Looks at the pictures' sizes only.
    // Throws `invalid_image`, `template_failed` when markers and pictures do not match.
    PreparedPrompt prepare(const std::string&                                     prompt,
                           const std::vector<std::shared_ptr<const ImageSource>>& images) const;
    // Decodes and encodes a picture. Takes seconds on a CPU, where it calls `rest` between operations. Throws
    // `invalid_image` or `decode_failed`, or `engine_closed` when `rest` said to give up.
    ImageEmbeddings encode(const ImageSource& source, const EncodeQueue::Rest& rest);
    // Lets the calling thread, and those it starts, give way to those that compute answers.
    static void lower_priority();

    // Whether encode() calls `rest`: on the CPU.
    bool rests() const { return rests_; }
    // What stands for a picture in a prompt; random, so that nobody can write it into a message.
    const std::string& marker() const { return marker_; }
    // Attention among a picture's tokens is not causal: they have to be computed in one piece.
    bool is_indivisible() const;

private:
    struct Free {
        void operator()(mtmd_context* context) const;
    };

    static bool on_operation(ggml_tensor* operation, bool ask, void* vision);

    std::string                         marker_;
    bool                                rests_   = false;
    const EncodeQueue::Rest*            rest_    = nullptr;  // while encoding
    bool                                gave_up_ = false;
    std::unique_ptr<mtmd_context, Free> context_;
    size_t                              n_embd_ = 0;
};

}  // namespace chasqui
