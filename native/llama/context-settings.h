// Thread: any.
#pragma once

#include <cstdint>
#include <string>

struct llama_context_params;

namespace chasqui {

// How positions become rotations. 0, and -1 where 0 means something: as the model's file says.
struct RopeSettings {
    std::string scaling;  // none, linear or yarn; empty: as the model's file says
    float       frequency_base  = 0;
    float       frequency_scale = 0;  // positions are multiplied by this
    uint32_t    yarn_original_context = 0;
    float       yarn_extrapolation    = -1;
    float       yarn_attention        = -1;
    float       yarn_beta_slow        = -1;
    float       yarn_beta_fast        = -1;
};

// How a context computes attention, and in what its KV cells are stored.
struct ContextSettings {
    std::string  keys   = "f16";  // ggml's names of types
    std::string  values = "f16";
    std::string  flash_attention = "auto";  // on, off or auto
    RopeSettings rope;

    // Throws `invalid_options` for what llama.cpp does not know, and for what it does not do together.
    void apply(llama_context_params& params) const;
};

// Throws `invalid_options` if llama.cpp set no context up because of these settings, which is seen in what it said, and
// else returns.
void refuse_settings(const ContextSettings& settings, const std::string& said);

}  // namespace chasqui
