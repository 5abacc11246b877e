// Thread: one.
#pragma once

#include "core/scheduler.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace chasqui::sim {

// Cost model of a machine with a model, in milliseconds.
struct CostModel {
    std::string name;
    // Cost of a pass over the weights: (tokens, milliseconds), interpolated and extrapolated linearly.
    std::vector<std::pair<double, double>> pass_ms;
    // Fixed cost of a step: planning, sampling, IPC.
    double ms_per_step = 0;
    // Attention per computed token and 1,000 tokens of context. Prompt tokens share their reads.
    double ms_per_1k_decode = 0;
    double ms_per_1k_prompt = 0;
    // Saving or loading the KV cells of 1,000 tokens.
    double ms_per_1k_moved = 0;
    size_t bytes_per_token = 0;
    size_t n_ubatch        = 512;
    // Number of streams for which the capacity is computed; the load is a fraction of it.
    size_t reference_rows = 8;

    double pass(size_t n_tokens) const;
    double step(const Plan& plan) const;
    double moved(size_t n_tokens) const { return ms_per_1k_moved * static_cast<double>(n_tokens) / 1000; }
    // Cost of a token of a long prompt, and of a token of one of `reference_rows` streams, after n_before tokens.
    double prompt_token(double n_before) const;
    double decoded_token(double n_before) const;
    // Sets a parameter by name: step-ms, pass-ms (as 1:30,8:92), 1k-decode-ms ...
    // Throws std::invalid_argument.
    void set(const std::string& parameter, const std::string& value);
};

// Throws std::invalid_argument for an unknown name.
CostModel cost_model(const std::string& name);

// The passes over the weights that a plan needs, and the tokens of each. llama.cpp computes sequences together only if their
// slots are adjacent and each has the same number of tokens.
struct Pass {
    struct Part {
        size_t n_tokens;
        size_t n_before;
    };
    std::vector<Part> parts;
    size_t            n_tokens() const { return parts.empty() ? 0 : parts.size() * parts.front().n_tokens; }
};
std::vector<Pass> passes_of(const Plan& plan, size_t n_ubatch);

}  // namespace chasqui::sim
