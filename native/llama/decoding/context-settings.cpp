#include "context-settings.h"

#include "../../core/error-code.h"

#include <llama.h>

#include <utility>

namespace chasqui {

namespace {

constexpr ggml_type kCellTypes[] = {GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0,  GGML_TYPE_Q5_1,
                                    GGML_TYPE_Q5_0, GGML_TYPE_Q4_1, GGML_TYPE_Q4_0, GGML_TYPE_IQ4_NL};

constexpr std::pair<const char*, llama_flash_attn_type> kFlashAttention[] = {
    {"auto", LLAMA_FLASH_ATTN_TYPE_AUTO}, {"on", LLAMA_FLASH_ATTN_TYPE_ENABLED}, {"off", LLAMA_FLASH_ATTN_TYPE_DISABLED}};

constexpr std::pair<const char*, llama_rope_scaling_type> kScaling[] = {
    {"", LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED},
    {"none", LLAMA_ROPE_SCALING_TYPE_NONE},
    {"linear", LLAMA_ROPE_SCALING_TYPE_LINEAR},
    {"yarn", LLAMA_ROPE_SCALING_TYPE_YARN}};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_options, message); }

ggml_type cell_type(const std::string& name) {
    std::string known;
    for (const ggml_type type : kCellTypes) {
        if (name == ggml_type_name(type)) return type;
        known += std::string(known.empty() ? "" : ", ") + ggml_type_name(type);
    }
    refuse("KV cells cannot be stored as `" + name + "`, but as one of " + known + ".");
}

template <typename Named>
auto by_name(const Named& named, const std::string& name, const char* what) {
    for (const auto& [its_name, value] : named) {
        if (name == its_name) return value;
    }
    refuse(std::string("There is no ") + what + " `" + name + "`.");
}

void apply_rope(const RopeSettings& rope, llama_context_params& params) {
    params.rope_scaling_type = by_name(kScaling, rope.scaling, "RoPE scaling");
    params.rope_freq_base    = rope.frequency_base;
    params.rope_freq_scale   = rope.frequency_scale;
    params.yarn_orig_ctx     = rope.yarn_original_context;
    params.yarn_ext_factor   = rope.yarn_extrapolation;
    params.yarn_attn_factor  = rope.yarn_attention;
    params.yarn_beta_slow    = rope.yarn_beta_slow;
    params.yarn_beta_fast    = rope.yarn_beta_fast;
}

}  // namespace

void ContextSettings::apply(llama_context_params& params) const {
    params.type_k          = cell_type(keys);
    params.type_v          = cell_type(values);
    params.offload_kqv     = kv_offload;
    params.op_offload      = op_offload;
    params.flash_attn_type = by_name(kFlashAttention, flash_attention, "setting of flash attention");
    if (ggml_is_quantized(params.type_v) && params.flash_attn_type == LLAMA_FLASH_ATTN_TYPE_DISABLED) {
        refuse("Values can be stored as " + values +
               " with flash attention only: leave `flashAttention` at auto, or store them as f16.");
    }
    apply_rope(rope, params);
}

// llama.cpp returns no context and logs the reason.
void refuse_settings(const ContextSettings& settings, const std::string& said) {
    for (const char* phrase : {"cache type", "flash_attn", "flash attention"}) {
        if (said.find(phrase) == std::string::npos) continue;
        refuse("The model does not take keys as " + settings.keys + " and values as " + settings.values +
               " with `flashAttention` " + settings.flash_attention + ". llama.cpp says: " + said);
    }
}

}  // namespace chasqui
