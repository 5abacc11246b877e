// Thread: any. The parameters of all contexts, for the classes that create them and for `fit.cpp`, which predicts their
// memory.
#pragma once

#include "../../core/error-code.h"
#include "decoder.h"
#include "../images/vision.h"

#include <ggml-backend.h>
#include <llama.h>
#include <mtmd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace chasqui {

// Tokens, where an option of 0 asks for the default.
constexpr uint32_t kDefaultContextLength = 4096;
// llama.cpp rounds the cells of each sequence up to a multiple of this.
constexpr uint32_t kCellPadding = 256;

// `trained_length`: the model's trained context length. Throws `invalid_options`.
llama_context_params decoder_context_params(uint32_t trained_length, const DecoderOptions& options);
// `n_slots`: concurrent drafts, each of a sequence of at most `context_length` tokens. Throws `invalid_options`.
llama_context_params draft_context_params(size_t n_slots, uint32_t context_length, const ContextSettings& settings);
// `n_slots`: as many as the decoder has. `n_max`: maximum length of a draft. Throws `invalid_options`.
llama_context_params mtp_context_params(uint32_t n_slots, uint32_t context_length, size_t n_max,
                                        const ContextSettings& settings);
// Throws `invalid_options` if the device does not exist.
mtmd_context_params  vision_context_params(const VisionOptions& options, const Offload& offload);

// `settings`: those in `params`. `what`: the context's purpose or size, for messages. Throws `invalid_options`,
// `out_of_memory`, or `otherwise` if llama.cpp cannot compute the model in this way.
llama_context* open_context(llama_model* model, const llama_context_params& params, const ContextSettings& settings,
                            const std::string& what, ErrorCode otherwise = ErrorCode::model_load_failed);

}  // namespace chasqui
