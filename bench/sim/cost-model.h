// Thread: one.
#pragma once

#include "core/scheduler.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace chasqui::sim {

// What a machine with a model takes for what a plan asks of it, in milliseconds.
struct CostModel {
    std::string name;
    // One pass over the weights: tokens in it, milliseconds. Between two points, and beyond the last, a straight line.
    std::vector<std::pair<double, double>> pass_ms;
    // What every step takes besides: planning, sampling, handing over.
    double ms_per_step = 0;
    // Attention: for each token computed, per 1,000 tokens that it looks back on. Prompt tokens share what they read.
    double ms_per_1k_decode = 0;
    double ms_per_1k_prompt = 0;
    // Saving, or loading, the cells of 1,000 tokens.
    double ms_per_1k_moved = 0;
    size_t bytes_per_token = 0;
    size_t n_ubatch        = 512;
    // Streams that a capacity is quoted for; the arrival rate is a fraction of it.
    size_t reference_rows = 8;

    double pass(size_t n_tokens) const;
    double step(const Plan& plan) const;
    double moved(size_t n_tokens) const { return ms_per_1k_moved * static_cast<double>(n_tokens) / 1000; }
    // A token of a long prompt, a token of one of `reference_rows` streams: with so many tokens before it.
    double prompt_token(double n_before) const;
    double decoded_token(double n_before) const;
    // Changes one parameter by its name: step-ms, pass-ms (as 1:30,8:92), 1k-decode-ms ...
    // Throws std::invalid_argument.
    void set(const std::string& parameter, const std::string& value);
};

// Throws std::invalid_argument for a name that is not known.
CostModel cost_model(const std::string& name);

// How many passes over the weights a plan costs, and how many tokens each takes in: llama.cpp computes sequences
// together only while their slots follow one another, and equally many tokens of each.
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
