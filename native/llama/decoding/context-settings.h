// Thread: any.
#pragma once

#include <cstdint>
#include <string>

struct llama_context_params;

namespace chasqui {

// RoPE. 0 (or -1 where 0 is a valid value) means: from the model's file.
struct RopeSettings {
    std::string scaling;  // none, linear or yarn; empty: from the model's file
    float       frequency_base  = 0;
    float       frequency_scale       = 0;  // factor for positions
    uint32_t    yarn_original_context = 0;
    float       yarn_extrapolation    = -1;
    float       yarn_attention        = -1;
    float       yarn_beta_slow        = -1;
    float       yarn_beta_fast        = -1;

    // Calls `read(name of a load option, member)` for each option that sets a member.
    template <typename Read>
    void read(const Read& read) {
        read("ropeScaling", scaling);
        read("ropeFreqBase", frequency_base);
        read("ropeFreqScale", frequency_scale);
        read("yarnOrigCtx", yarn_original_context);
        read("yarnExtFactor", yarn_extrapolation);
        read("yarnAttnFactor", yarn_attention);
        read("yarnBetaSlow", yarn_beta_slow);
        read("yarnBetaFast", yarn_beta_fast);
    }
};

// How a context computes attention and stores its KV cells.
struct ContextSettings {
    std::string  keys            = "f16";  // names of ggml types
    std::string  values = "f16";
    std::string  flash_attention = "auto";  // on, off or auto
    bool         kv_offload      = true;    // the cells of layers on GPUs are there
    bool         op_offload      = true;    // GPUs compute large batches for layers in main memory
    RopeSettings rope;

    // Throws `invalid_options` for unknown values and unsupported combinations.
    void apply(llama_context_params& params) const;
};

// Throws `invalid_options` if llama.cpp's error message shows that these settings prevented a context.
void refuse_settings(const ContextSettings& settings, const std::string& said);

}  // namespace chasqui
