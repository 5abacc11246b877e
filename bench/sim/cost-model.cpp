#include "cost-model.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

namespace chasqui::sim {

namespace {

// Qwen2-0.5B in Q4_K_M on two cores with AVX-512 and AMX.
CostModel cpu_half_billion() {
    CostModel cost;
    cost.name             = "cpu-0.5b";
    cost.pass_ms          = {{1, 30}, {8, 92}, {32, 150}, {64, 240}, {512, 1640}};
    cost.ms_per_step      = 0.3;
    cost.ms_per_1k_decode = 1.5;
    cost.ms_per_1k_prompt = 0.8;
    cost.ms_per_1k_moved  = 4;
    cost.bytes_per_token  = 12288;
    return cost;
}

// A model of 7 billion parameters in 4 bits on a GPU with a memory bandwidth of 1 TB/s, its snapshots in main memory.
CostModel gpu_seven_billion() {
    CostModel cost;
    cost.name             = "gpu-7b";
    cost.pass_ms          = {{1, 6}, {8, 6.5}, {64, 9}, {512, 102}};
    cost.ms_per_step      = 0.5;
    cost.ms_per_1k_decode = 0.13;
    cost.ms_per_1k_prompt = 0.015;
    cost.ms_per_1k_moved  = 11;
    cost.bytes_per_token  = 131072;
    cost.reference_rows   = 32;
    return cost;
}

std::vector<std::pair<double, double>> points(const std::string& text) {
    std::vector<std::pair<double, double>> found;
    std::istringstream                     stream(text);
    for (std::string each; std::getline(stream, each, ',');) {
        const size_t colon = each.find(':');
        if (colon == std::string::npos) throw std::invalid_argument("pass-ms needs tokens:ms, not " + each);
        found.emplace_back(std::stod(each.substr(0, colon)), std::stod(each.substr(colon + 1)));
    }
    if (found.size() < 2) throw std::invalid_argument("pass-ms needs at least two points");
    return found;
}

}  // namespace

CostModel cost_model(const std::string& name) {
    if (name == "cpu-0.5b") return cpu_half_billion();
    if (name == "gpu-7b") return gpu_seven_billion();
    throw std::invalid_argument("there is no machine " + name + "; there are cpu-0.5b and gpu-7b");
}

void CostModel::set(const std::string& parameter, const std::string& value) {
    const std::map<std::string, double*> numbers{{"step-ms", &ms_per_step},
                                                 {"1k-decode-ms", &ms_per_1k_decode},
                                                 {"1k-prompt-ms", &ms_per_1k_prompt},
                                                 {"1k-moved-ms", &ms_per_1k_moved}};
    const std::map<std::string, size_t*> counts{{"bytes-per-token", &bytes_per_token},
                                                {"ubatch", &n_ubatch},
                                                {"reference-rows", &reference_rows}};
    if (parameter == "pass-ms") pass_ms = points(value);
    else if (const auto number = numbers.find(parameter); number != numbers.end()) *number->second = std::stod(value);
    else if (const auto count = counts.find(parameter); count != counts.end()) *count->second = std::stoul(value);
    else throw std::invalid_argument("a machine has no parameter " + parameter);
}

double CostModel::pass(size_t n_tokens) const {
    const auto n     = static_cast<double>(n_tokens);
    size_t     upper = 1;
    while (upper + 1 < pass_ms.size() && pass_ms[upper].first < n) ++upper;
    const auto& [x0, y0] = pass_ms[upper - 1];
    const auto& [x1, y1] = pass_ms[upper];
    return y0 + (y1 - y0) * (n - x0) / (x1 - x0);
}

double CostModel::step(const Plan& plan) const {
    double total = ms_per_step;
    for (const Pass& each : passes_of(plan, n_ubatch)) {
        total += pass(each.n_tokens());
        for (const auto& [n_tokens, n_before] : each.parts) {
            const double tokens  = static_cast<double>(n_tokens);
            const double looks   = static_cast<double>(n_before) + tokens / 2;
            total += (n_tokens == 1 ? ms_per_1k_decode : ms_per_1k_prompt) * tokens * looks / 1000;
        }
    }
    return total;
}

double CostModel::prompt_token(double n_before) const {
    return pass(n_ubatch) / static_cast<double>(n_ubatch) + ms_per_1k_prompt * n_before / 1000;
}

double CostModel::decoded_token(double n_before) const {
    return (pass(reference_rows) + ms_per_step) / static_cast<double>(reference_rows) +
           ms_per_1k_decode * n_before / 1000;
}

std::vector<Pass> passes_of(const Plan& plan, size_t n_ubatch) {
    std::vector<Pass>   passes;
    std::vector<size_t> done(plan.rows.size(), 0);
    const auto          left = [&](size_t row) { return plan.rows[row].n_tokens - done[row]; };
    for (size_t first = 0; first < plan.rows.size();) {
        if (left(first) == 0) {
            ++first;
            continue;
        }
        size_t end    = first;
        size_t n_each = left(first);
        while (end < plan.rows.size() && left(end) > 0 && end - first < n_ubatch &&
               plan.rows[end].sequence->slot == plan.rows[first].sequence->slot + static_cast<int32_t>(end - first)) {
            n_each = std::min(n_each, left(end++));
        }
        n_each = std::min(n_each, std::max<size_t>(1, n_ubatch / (end - first)));
        Pass pass;
        for (size_t row = first; row < end; ++row) {
            pass.parts.push_back({n_each, plan.rows[row].sequence->n_computed + done[row]});
            done[row] += n_each;
        }
        passes.push_back(std::move(pass));
    }
    return passes;
}

}  // namespace chasqui::sim
