#include "sampler-chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace chasqui {

namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();
// The logarithm of the largest float.
constexpr float kMaxExponent = 88.7228391f;

// Adaptive-p applies only if a job names it, and last: it draws the token.
const std::vector<SamplerKind> kDefaultOrder = [] {
    std::vector<SamplerKind> kinds = {
#define CHASQUI_SAMPLER(kind) SamplerKind::kind,
        CHASQUI_SAMPLERS(CHASQUI_SAMPLER)
#undef CHASQUI_SAMPLER
    };
    kinds.erase(std::remove(kinds.begin(), kinds.end(), SamplerKind::adaptive_p), kinds.end());
    return kinds;
}();

bool uses_adaptive_p(const SamplingSettings& settings) {
    const auto& samplers = settings.samplers;
    return settings.adaptive_target >= 0.0f &&
           std::find(samplers.begin(), samplers.end(), SamplerKind::adaptive_p) != samplers.end();
}

// The sum of the weights of infinitely many earlier tokens.
float adaptive_weight(const SamplingSettings& settings) { return 1.0f / (1.0f - settings.adaptive_decay); }

bool uses_xtc(const SamplingSettings& settings) {
    return settings.xtc_probability > 0.0f && settings.xtc_threshold <= 0.5f;
}

bool is_more_probable(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

}  // namespace

bool SamplerChain::is_needed(const SamplingSettings& settings) {
    return settings.typical_p < 1.0f || settings.top_n_sigma > 0.0f || uses_xtc(settings) ||
           settings.dynatemp_range > 0.0f || settings.mirostat != 0 || Repetitions::is_on(settings) ||
           settings.logprobs_after ||
           (!settings.samplers.empty() && settings.samplers != kDefaultOrder);
}

SamplerChain::SamplerChain(const SamplingSettings& settings)
    : settings_(settings),
      order_(settings.samplers.empty() ? kDefaultOrder : settings.samplers),
      recent_(has_penalties(settings) ? settings.repeat_last_n : 0),
      repetitions_(settings),
      draws_(settings.seed),
      xtc_draws_(settings.seed),
      surprise_(2.0f * settings.mirostat_tau),
      adaptive_sum_(settings.adaptive_target * adaptive_weight(settings)),
      adaptive_weight_(adaptive_weight(settings)) {}

void SamplerChain::restore(const State& state) {
    draws_     = state.draws;
    xtc_draws_ = state.xtc_draws;
    forget_choice(state);
}

void SamplerChain::forget_choice(const State& before) {
    surprise_        = before.surprise;
    adaptive_sum_    = before.adaptive_sum;
    adaptive_weight_ = before.adaptive_weight;
}

void SamplerChain::accept(TokenId token) {
    recent_.add(token);
    repetitions_.accept(token);
}

TokenId SamplerChain::choose(const float* logits, int32_t n_vocab) {
    candidates_.clear();
    for (TokenId id = 0; id < n_vocab; ++id) {
        candidates_.push_back({id, std::isnan(logits[id]) ? kImpossible : logits[id]});
    }
    is_indexed_ = true;
    is_sorted_  = false;
    if (settings_.mirostat == 0) {
        for (const SamplerKind kind : order_) apply(kind);
    } else {
        apply_temperature(settings_.temperature);
    }
    drop_impossible();
    if (candidates_.empty()) return 0;  // no token is possible: any is as good
    switch (settings_.mirostat) {
        case 1: return draw_mirostat(n_vocab);
        case 2: return draw_mirostat_v2();
        default: return uses_adaptive_p(settings_) ? draw_adaptively() : draw();
    }
}

void SamplerChain::force(TokenId token) {
    candidates_ = {{token, 0.0f}};
    is_indexed_ = false;
    is_sorted_  = true;
}

Logprobs SamplerChain::logprobs_of(TokenId chosen, int32_t n_top) {
    sort();
    compute_probabilities();
    Logprobs result;
    result.chosen = {chosen, kImpossible, {}};
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const TokenLogprob each{candidates_[i].id, std::log(probabilities_[i]), {}};
        if (each.id == chosen) result.chosen = each;
        if (i < static_cast<size_t>(n_top) && probabilities_[i] > 0.0f) result.top.push_back(each);
    }
    return result;
}

void SamplerChain::apply(SamplerKind kind) {
    switch (kind) {
        case SamplerKind::penalties: return penalise();
        case SamplerKind::dry: return penalise_repetitions();
        case SamplerKind::top_n_sigma: return keep_top_n_sigma();
        case SamplerKind::top_k: return keep_top_k();
        case SamplerKind::typ_p: return keep_typical_p();
        case SamplerKind::top_p: return keep_top_p();
        case SamplerKind::min_p: return keep_min_p();
        case SamplerKind::xtc: return exclude_top_choices();
        case SamplerKind::temperature:
            return settings_.dynatemp_range > 0.0f ? apply_dynamic_temperature()
                                                   : apply_temperature(settings_.temperature);
        case SamplerKind::adaptive_p: return;  // draw_adaptively()
    }
}

// The candidates are many at first, and then `tokens` are looked up among them; later it is the other way round.
template <typename Tokens, typename Change>
void SamplerChain::for_each_of(const Tokens& tokens, const Change& change) {
    if (is_indexed_) {
        for (const auto& [token, value] : tokens) {
            if (token < 0 || static_cast<size_t>(token) >= candidates_.size()) continue;
            change(candidates_[static_cast<size_t>(token)].logit, value);
        }
    } else {
        const std::unordered_map<TokenId, int> values(tokens.begin(), tokens.end());
        for (Candidate& candidate : candidates_) {
            const auto found = values.find(candidate.id);
            if (found != values.end()) change(candidate.logit, found->second);
        }
    }
    is_sorted_ = false;
}

void SamplerChain::penalise() {
    if (!has_penalties(settings_)) return;
    for_each_of(recent_.counts(),
                [this](float& logit, int32_t count) { logit = penalised(settings_, logit, count); });
}

// Each token that would prolong a repetition to more than the allowed length becomes less probable, exponentially so
// with that length.
void SamplerChain::penalise_repetitions() {
    if (!Repetitions::is_on(settings_)) return;
    const float base         = settings_.dry_base;
    const int   max_exponent = base > 1.000001f ? static_cast<int>(kMaxExponent / std::log(base)) : 0;
    for_each_of(repetitions_.find(), [&](float& logit, int length) {
        int exponent = length - settings_.dry_allowed_length;
        if (max_exponent > 0) exponent = std::min(exponent, max_exponent);
        logit -= settings_.dry_multiplier * std::pow(base, static_cast<float>(exponent));
    });
}

// Keeps the logits that are at most so many standard deviations below the largest.
void SamplerChain::keep_top_n_sigma() {
    if (settings_.top_n_sigma <= 0.0f) return;
    drop_impossible();
    if (candidates_.size() <= 1) return;
    double sum = 0, squares = 0;
    for (const Candidate& candidate : candidates_) sum += candidate.logit;
    const double mean = sum / static_cast<double>(candidates_.size());
    for (const Candidate& candidate : candidates_) squares += (candidate.logit - mean) * (candidate.logit - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(candidates_.size()));
    const auto   least     = static_cast<float>(largest_logit() - settings_.top_n_sigma * deviation);
    const auto   is_less   = [least](const Candidate& candidate) { return candidate.logit < least; };
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), is_less), candidates_.end());
}

void SamplerChain::keep_top_k() {
    if (settings_.top_k <= 0) return;
    drop_impossible();
    const size_t k = std::min(static_cast<size_t>(settings_.top_k), candidates_.size());
    if (!is_sorted_) {
        const auto end = candidates_.begin() + static_cast<ptrdiff_t>(k);
        std::partial_sort(candidates_.begin(), end, candidates_.end(), is_more_probable);
    }
    candidates_.resize(k);
    is_sorted_ = true;
}

// Keeps tokens by how close their surprise is to the expected one, until their probabilities add up to typical_p.
void SamplerChain::keep_typical_p() {
    if (settings_.typical_p >= 1.0f) return;
    drop_impossible();
    sort();
    compute_probabilities();
    float entropy = 0;
    for (const float p : probabilities_) entropy -= p > 0.0f ? p * std::log(p) : 0.0f;

    std::vector<std::pair<float, size_t>> by_distance;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        by_distance.emplace_back(std::fabs(-std::log(probabilities_[i]) - entropy), i);
    }
    std::sort(by_distance.begin(), by_distance.end());
    std::vector<Candidate> kept;
    float                  covered = 0;
    for (const auto& [distance, i] : by_distance) {
        kept.push_back(candidates_[i]);
        covered += probabilities_[i];
        if (covered > settings_.typical_p) break;
    }
    candidates_ = std::move(kept);
    is_sorted_  = false;
}

void SamplerChain::keep_top_p() {
    if (settings_.top_p >= 1.0f) return;
    drop_impossible();
    sort();
    compute_probabilities();
    float  covered = 0;
    size_t keep    = 0;
    while (keep < candidates_.size()) {
        covered += probabilities_[keep++];
        if (covered >= settings_.top_p) break;
    }
    candidates_.resize(keep);
}

void SamplerChain::keep_min_p() {
    if (settings_.min_p <= 0.0f) return;
    drop_impossible();
    const float least   = largest_logit() + std::log(settings_.min_p);
    const auto  is_less = [least](const Candidate& candidate) { return candidate.logit < least; };
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), is_less), candidates_.end());
}

// XTC: now and then, all tokens that reach the threshold are left out but the least probable of them.
void SamplerChain::exclude_top_choices() {
    if (!uses_xtc(settings_)) return;
    drop_impossible();
    if (candidates_.size() < 2) return;
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    if (uniform(xtc_draws_) > settings_.xtc_probability) return;
    sort();
    compute_probabilities();
    size_t n_reaching = 0;
    while (n_reaching < candidates_.size() && probabilities_[n_reaching] >= settings_.xtc_threshold) ++n_reaching;
    if (n_reaching < 2) return;
    candidates_.erase(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(n_reaching) - 1);
}

void SamplerChain::apply_temperature(float temperature) {
    drop_impossible();
    if (candidates_.empty()) return;
    if (temperature <= 0.0f) {
        const auto most_probable = std::max_element(candidates_.begin(), candidates_.end(),
                                                    [](const auto& a, const auto& b) { return a.logit < b.logit; });
        candidates_              = {*most_probable};
        return;
    }
    for (Candidate& candidate : candidates_) candidate.logit /= temperature;
}

// The less certain the model is, the higher the temperature, within the range.
void SamplerChain::apply_dynamic_temperature() {
    drop_impossible();
    if (candidates_.size() <= 1) return;
    sort();
    compute_probabilities();
    float entropy = 0;
    for (const float p : probabilities_) entropy -= p > 0.0f ? p * std::log(p) : 0.0f;
    const float uncertainty = entropy / std::log(static_cast<float>(candidates_.size()));
    const float lowest      = std::max(0.0f, settings_.temperature - settings_.dynatemp_range);
    const float highest     = settings_.temperature + settings_.dynatemp_range;
    apply_temperature(lowest + (highest - lowest) * std::pow(uncertainty, settings_.dynatemp_exponent));
}

// As llama.cpp's `dist` sampler does it, in the order of the candidates.
TokenId SamplerChain::draw() {
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const double                           draw = uniform(draws_);
    if (candidates_.size() == 1) return candidates_.front().id;
    const float max = largest_logit();
    double      sum = 0;
    probabilities_.clear();
    for (const Candidate& candidate : candidates_) {
        probabilities_.push_back(std::exp(candidate.logit - max));
        sum += probabilities_.back();
    }
    double running = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        running += probabilities_[i];
        if (running >= sum * draw) return candidates_[i].id;
    }
    return candidates_.back().id;
}

void SamplerChain::drop_impossible() {
    if (!is_indexed_) return;
    is_indexed_ = false;
    const auto is_impossible = [](const Candidate& candidate) { return candidate.logit == kImpossible; };
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), is_impossible), candidates_.end());
}

void SamplerChain::sort() {
    if (is_sorted_) return;
    std::sort(candidates_.begin(), candidates_.end(), is_more_probable);
    is_sorted_ = true;
}

float SamplerChain::largest_logit() const {
    float max = kImpossible;
    for (const Candidate& candidate : candidates_) max = std::max(max, candidate.logit);
    return max;
}

void SamplerChain::compute_probabilities() {
    const float max = largest_logit();
    float       sum = 0;
    probabilities_.clear();
    for (const Candidate& candidate : candidates_) {
        // A penalty may have made all of them impossible; then they are equally so.
        probabilities_.push_back(std::isfinite(max) ? std::exp(candidate.logit - max) : 1.0f);
        sum += probabilities_.back();
    }
    for (float& p : probabilities_) p /= sum;
}

}  // namespace chasqui
