// Thread: engine.
#pragma once

#include "../core/media.h"

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chasqui {

// A slice of an image as llama_decode takes it: rows of numbers in place of the tokens' embeddings.
class ImageBatch {
public:
    // Holds the `n_tokens` rows from `from` on, of a chunk with these embeddings. `output`: logits after the last.
    ImageBatch(const ImageChunk& chunk, const std::vector<float>& embeddings, size_t from, size_t n_tokens,
               int32_t slot, bool output);
    ImageBatch(const ImageBatch&)            = delete;
    ImageBatch& operator=(const ImageBatch&) = delete;

    // Valid for as long as this object is.
    llama_batch view();

private:
    std::vector<float>         rows_;
    std::vector<llama_pos>     positions_;  // by section
    std::vector<int32_t>       n_slots_;
    llama_seq_id               slot_;
    std::vector<llama_seq_id*> slots_;
    std::vector<int8_t>        outputs_;
};

// While it lives, every token of a batch attends to every other.
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
