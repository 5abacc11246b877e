// Thread: engine.
#pragma once

#include "../../core/media.h"

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chasqui {

// A slice of an image as input of llama_decode: rows of numbers instead of tokens.
class ImageBatch {
public:
    enum class Outputs { none, last, all };

    // The `n_tokens` rows from `from` on of a chunk with these embeddings.
    ImageBatch(const ImageChunk& chunk, const std::vector<float>& embeddings, size_t from, size_t n_tokens,
               int32_t slot, Outputs outputs);
    ImageBatch(const ImageBatch&)            = delete;
    ImageBatch& operator=(const ImageBatch&) = delete;

    // Valid as long as this object.
    llama_batch view();

private:
    std::vector<float>         rows_;
    std::vector<llama_pos>     positions_;  // by section
    std::vector<int32_t>       n_slots_;
    llama_seq_id               slot_;
    std::vector<llama_seq_id*> slots_;
    std::vector<int8_t>        outputs_;
};

// While it exists, all tokens of a batch attend to each other.
class NonCausal {
public:
    NonCausal(llama_context* context, bool is_on) : context_(is_on ? context : nullptr) {
        if (context_ != nullptr) llama_set_causal_attn(context_, false);
    }
    ~NonCausal() {
        if (context_ != nullptr) llama_set_causal_attn(context_, true);
    }
    NonCausal(const NonCausal&)            = delete;
    NonCausal& operator=(const NonCausal&) = delete;

private:
    llama_context* context_;
};

}  // namespace chasqui
