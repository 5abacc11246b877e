#include "sampler.h"

#include "error-code.h"
#include "largest-logit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace chasqui {

namespace {

// Logits per block: select_largest() skips blocks with a small maximum.
constexpr int32_t kBlock = 128;
// The prediction delays the step of all sequences.
constexpr std::chrono::milliseconds kMaxLikelyTextTime{1};

}  // namespace

Sampler::Sampler(const SamplingSettings& settings, std::shared_ptr<TokenConstraint> constraint,
                 std::shared_ptr<ReasoningBudget> reasoning)
    : settings_(settings),
      has_penalties_(!SamplerChain::is_needed(settings) && has_penalties(settings)),
      recent_(has_penalties_ ? settings.repeat_last_n : 0),
      random_(settings.seed),
      chain_(SamplerChain::is_needed(settings) ? std::make_unique<SamplerChain>(settings) : nullptr),
      constraint_(std::move(constraint)),
      reasoning_(std::move(reasoning)) {
    if (constraint_) constraint_->set_deadline(&deadline_);
}

Sampler::~Sampler() {
    if (constraint_) constraint_->set_deadline(nullptr);
}

void Sampler::remember_token(TokenId token) {
    recent_.add(token);
    if (chain_) chain_->accept(token);
}

void Sampler::accept(TokenId token) {
    remember_token(token);
    if (constraint_) constraint_->accept(token);
    if (reasoning_) reasoning_->accept(token);
}

// Never fails: the text is only a prediction, and the next call of sample() reports errors of the constraint.
std::string Sampler::likely_text(size_t n_max) {
    if (!constraint_) return {};
    deadline_.set(Deadline::Clock::now() + kMaxLikelyTextTime);
    std::string text;
    try {
        text = constraint_->likely_text(n_max);
    } catch (const std::exception&) {
        text.clear();
    }
    deadline_.clear();
    return text;
}

// If the grammar refuses the tokens that end the reasoning, it takes precedence over the budget: otherwise the text
// would end.
std::optional<TokenId> Sampler::forced_token() {
    if (!reasoning_) return std::nullopt;
    while (const std::optional<TokenId> token = reasoning_->forced()) {
        if (!constraint_ || constraint_->allows(*token)) return token;
        reasoning_->refuse();
    }
    return std::nullopt;
}

TokenId Sampler::sample(float* logits, int32_t n_vocab) {
    if (const std::optional<TokenId> forced = forced_token()) {
        if (chain_) chain_->force(*forced);
        return *forced;
    }
    if (!constraint_) {
        adjust(logits, n_vocab);
        const TokenId token = choose(logits, n_vocab);
        restore(logits);
        return token;
    }
    const std::mt19937 random = random_;
    // Not std::optional: GCC 12 warns of its members as uninitialised.
    const auto before = chain_ ? std::make_unique<SamplerChain::State>(chain_->state()) : nullptr;
    try {
        adjust(logits, n_vocab);
        TokenId token = choose(logits, n_vocab);
        if (!constraint_->allows(token)) {
            if (before) chain_->forget_choice(*before);
            token = choose_allowed(logits, n_vocab);
        }
        restore(logits);
        return token;
    } catch (...) {
        restore(logits);
        random_ = random;
        if (before) chain_->restore(*before);
        throw;
    }
}

Logprobs Sampler::logprobs_of(const float* logits, int32_t n_vocab, TokenId chosen, int32_t n_top) {
    if (settings_.logprobs_after) return chain_->logprobs_of(chosen, n_top);
    return chasqui::logprobs_of(logits, n_vocab, chosen, n_top);
}

// Chooses among the tokens that the constraint allows. Checks as few tokens as possible: checking the whole vocabulary
// takes milliseconds.
TokenId Sampler::choose_allowed(const float* logits, int32_t n_vocab) {
    if (!chain_ && (settings_.top_k > 0 || is_greedy()) && collect_allowed_of_largest(logits, n_vocab)) {
        if (is_greedy()) return candidates_.front().id;
        keep_top_p();
        keep_min_p();
        return draw_from_candidates();
    }
    masked_.assign(static_cast<size_t>(n_vocab), -std::numeric_limits<float>::infinity());
    bool                   any = false;
    std::optional<TokenId> end;
    for (const TokenId id : constraint_->allowed()) {
        if (id >= n_vocab) continue;
        masked_[static_cast<size_t>(id)] = logits[id];
        any = any || logits[id] > -std::numeric_limits<float>::infinity();
        if (is_banned_end(id)) end = id;
    }
    if (any) return choose(masked_.data(), n_vocab);
    if (!end) throw Error(ErrorCode::invalid_grammar, "The grammar allows no token here, so the text cannot continue.");
    if (chain_) chain_->force(*end);
    return *end;
}

bool Sampler::is_banned_end(TokenId token) const {
    const std::vector<TokenId>& ends = settings_.banned_ends;
    return std::find(ends.begin(), ends.end(), token) != ends.end();
}

// Fills candidates_ with the top_k most probable allowed tokens. Checks only a few of the most probable tokens; false
// if these do not contain enough allowed ones.
bool Sampler::collect_allowed_of_largest(const float* logits, int32_t n_vocab) {
    const size_t wanted = is_greedy() ? 1 : static_cast<size_t>(settings_.top_k);
    const size_t n_checked = std::min(4 * wanted + 64, static_cast<size_t>(n_vocab));
    select_largest(logits, n_vocab, n_checked);
    checked_.clear();
    for (const Candidate& candidate : candidates_) {
        if (candidate.logit > -std::numeric_limits<float>::infinity()) checked_.push_back(candidate.id);
    }
    constraint_->filter(checked_);
    if (checked_.size() < wanted) return false;
    candidates_.clear();
    for (size_t i = 0; i < wanted; ++i) candidates_.push_back({checked_[i], logits[checked_[i]]});
    return true;
}

// Biases and penalties change few tokens, so they are applied in place and undone afterwards.
void Sampler::adjust(float* logits, int32_t n_vocab) {
    for (const auto& [token, bias] : settings_.logit_bias) {
        if (token < 0 || token >= n_vocab) continue;
        remember(token, logits);
        logits[token] += bias;
    }
    for (const TokenId token : settings_.banned_ends) {
        if (token < 0 || token >= n_vocab) continue;
        remember(token, logits);
        logits[token] = -std::numeric_limits<float>::infinity();
    }
    if (has_penalties_) penalise(logits, n_vocab);
}

void Sampler::penalise(float* logits, int32_t n_vocab) {
    for (const auto& [token, count] : recent_.counts()) {
        if (token < 0 || token >= n_vocab) continue;
        remember(token, logits);
        logits[token] = penalised(settings_, logits[token], count);
    }
}

// In reverse order, because a token may have been changed twice.
void Sampler::restore(float* logits) {
    for (auto change = changed_.rbegin(); change != changed_.rend(); ++change) logits[change->id] = change->logit;
    changed_.clear();
}

TokenId Sampler::choose(const float* logits, int32_t n_vocab) {
    if (chain_) return chain_->choose(logits, n_vocab);
    if (is_greedy()) return argmax(logits, n_vocab);
    const bool all = (settings_.top_k <= 0 || settings_.top_k >= n_vocab) && settings_.top_p >= 1.0f &&
                     settings_.min_p <= 0.0f;
    if (all) return draw_from_all(logits, n_vocab);
    collect_candidates(logits, n_vocab);
    if (candidates_.empty()) return 0;  // all logits are NaN: any token is as good
    return draw_from_candidates();
}

// Fills candidates_ with the tokens that top_k, top_p and min_p keep, most probable first unless only min_p applies.
void Sampler::collect_candidates(const float* logits, int32_t n_vocab) {
    if (settings_.top_k > 0 && settings_.top_k < n_vocab) {
        select_largest(logits, n_vocab, static_cast<size_t>(settings_.top_k));
        keep_top_p();
    } else if (settings_.top_p < 1.0f) {
        collect_nucleus(logits, n_vocab);
    } else {
        candidates_.clear();
        const float least = largest_logit(logits, n_vocab) + std::log(settings_.min_p);
        for (TokenId id = 0; id < n_vocab; ++id) {
            if (logits[id] >= least) candidates_.push_back({id, logits[id]});
        }
        return;
    }
    keep_min_p();
}

// Fills candidates_ with the k largest logits, largest first. Skips blocks with a maximum that is too small. If
// many logits are equal these may be all blocks, so the list is cut to k whenever it has doubled.
void Sampler::select_largest(const float* logits, int32_t n_vocab, size_t k) {
    const auto larger = [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    };
    const size_t limit = 2 * k + 64;
    find_block_maxima(logits, n_vocab);
    float least = lower_bound_of_largest(k);
    candidates_.clear();
    candidates_.reserve(limit);
    for (size_t block = 0; block < block_maxima_.size(); ++block) {
        if (candidates_.size() >= k && !(block_maxima_[block] > least)) continue;
        const TokenId begin = static_cast<TokenId>(block) * kBlock;
        const TokenId end   = begin + std::min(kBlock, n_vocab - begin);
        for (TokenId id = begin; id < end; ++id) {
            if (std::isnan(logits[id]) || (!(logits[id] > least) && candidates_.size() >= k)) continue;
            candidates_.push_back({id, logits[id]});
            if (candidates_.size() < limit) continue;
            std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(k) - 1,
                             candidates_.end(), larger);
            candidates_.resize(k);
            least = candidates_.back().logit;
        }
    }
    const size_t keep = std::min(k, candidates_.size());
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(keep), candidates_.end(),
                      larger);
    candidates_.resize(keep);
}

void Sampler::find_block_maxima(const float* logits, int32_t n_vocab) {
    block_maxima_.clear();
    for (TokenId begin = 0; begin < n_vocab; begin += std::min(kBlock, n_vocab - begin)) {
        block_maxima_.push_back(largest_logit(logits + begin, std::min(kBlock, n_vocab - begin)));
    }
}

// A lower bound below the k largest logits: the k largest block maxima are logits themselves, so the k-th largest logit
// is at least the smallest of them. Minus infinity if there are fewer than k blocks.
float Sampler::lower_bound_of_largest(size_t k) {
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    if (block_maxima_.size() < k) return kLowest;
    sorted_maxima_ = block_maxima_;
    const auto kth = sorted_maxima_.begin() + static_cast<ptrdiff_t>(k) - 1;
    std::nth_element(sorted_maxima_.begin(), kth, sorted_maxima_.end(), std::greater<float>());
    return std::nextafter(*kth, kLowest);
}

// top_p over sorted candidates: keeps the shortest prefix with a total probability of at least top_p.
void Sampler::keep_top_p() {
    if (settings_.top_p >= 1.0f || candidates_.empty()) return;
    const float max = candidates_.front().logit;
    weights_.clear();
    float sum = 0;
    for (const Candidate& candidate : candidates_) {
        weights_.push_back(std::exp(candidate.logit - max));
        sum += weights_.back();
    }
    float  covered = 0;
    size_t keep    = 0;
    while (keep < candidates_.size()) {
        covered += weights_[keep++] / sum;
        if (covered >= settings_.top_p) break;
    }
    candidates_.resize(keep);
}

// top_p over the whole vocabulary. The nucleus is nearly always small, so increasingly many of the largest logits are
// selected until they contain it, instead of sorting all.
void Sampler::collect_nucleus(const float* logits, int32_t n_vocab) {
    const float max = largest_logit(logits, n_vocab);
    double      sum = 0;
    for (TokenId id = 0; id < n_vocab; ++id) sum += std::exp(logits[id] - max);

    for (size_t k = 256;; k *= 16) {
        k = std::min(k, static_cast<size_t>(n_vocab));
        select_largest(logits, n_vocab, k);
        double covered = 0;
        for (size_t keep = 0; keep < candidates_.size(); ++keep) {
            covered += std::exp(candidates_[keep].logit - max) / sum;
            if (covered >= settings_.top_p) {
                candidates_.resize(keep + 1);
                return;
            }
        }
        if (k == static_cast<size_t>(n_vocab)) return;
    }
}

void Sampler::keep_min_p() {
    if (settings_.min_p <= 0.0f || candidates_.empty()) return;
    const float least = candidates_.front().logit + std::log(settings_.min_p);
    size_t      keep  = 1;
    while (keep < candidates_.size() && candidates_[keep].logit >= least) ++keep;
    candidates_.resize(keep);
}

// Draws exactly like llama.cpp's `dist` sampler: one double from mt19937 against the cumulative sum.
TokenId Sampler::draw_from_candidates() {
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const double                           draw = uniform(random_);
    if (candidates_.size() == 1) return candidates_.front().id;

    float max = candidates_.front().logit;
    for (const Candidate& candidate : candidates_) max = std::max(max, candidate.logit);
    max /= settings_.temperature;
    weights_.clear();
    double sum = 0;
    for (const Candidate& candidate : candidates_) {
        weights_.push_back(std::exp(candidate.logit / settings_.temperature - max));
        sum += weights_.back();
    }
    const double target  = sum * draw;
    double       running = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        running += weights_[i];
        if (running >= target) return candidates_[i].id;
    }
    return candidates_.back().id;
}

TokenId Sampler::draw_from_all(const float* logits, int32_t n_vocab) {
    const float max = largest_logit(logits, n_vocab) / settings_.temperature;
    weights_.resize(static_cast<size_t>(n_vocab));
    double sum = 0;
    for (TokenId id = 0; id < n_vocab; ++id) {
        const float weight                 = std::exp(logits[id] / settings_.temperature - max);
        weights_[static_cast<size_t>(id)] = weight;
        sum += weight;
    }
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const double                           target  = sum * uniform(random_);
    double                                 running = 0;
    for (TokenId id = 0; id < n_vocab; ++id) {
        running += weights_[static_cast<size_t>(id)];
        if (running >= target) return id;
    }
    return n_vocab - 1;
}

// By blocks, so only the block with the maximum is read twice.
TokenId argmax(const float* logits, int32_t n_vocab) {
    constexpr int32_t kLargeBlock = 4096;
    float             max         = -std::numeric_limits<float>::infinity();
    TokenId           first       = 0;
    for (TokenId begin = 0; begin < n_vocab; begin += std::min(kLargeBlock, n_vocab - begin)) {
        const float of_block = largest_logit(logits + begin, std::min(kLargeBlock, n_vocab - begin));
        if (!(of_block > max)) continue;
        max   = of_block;
        first = begin;
    }
    for (TokenId id = first; id < n_vocab; ++id) {
        if (logits[id] == max) return id;
    }
    return 0;  // all logits are NaN: any token is as good
}

Logprobs logprobs_of(const float* logits, int32_t n_vocab, TokenId chosen, int32_t n_top) {
    const float max = largest_logit(logits, n_vocab);
    double      sum = 0;
    for (TokenId id = 0; id < n_vocab; ++id) sum += std::exp(logits[id] - max);
    const double normaliser = static_cast<double>(max) + std::log(sum);
    const auto   logprob    = [&](TokenId id) { return static_cast<float>(logits[id] - normaliser); };

    std::vector<TokenId> order(static_cast<size_t>(n_vocab));
    for (TokenId id = 0; id < n_vocab; ++id) order[static_cast<size_t>(id)] = id;
    const auto n = static_cast<ptrdiff_t>(std::min(n_top, n_vocab));
    std::partial_sort(order.begin(), order.begin() + n, order.end(), [&](TokenId a, TokenId b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    });

    Logprobs result;
    result.chosen = {chosen, logprob(chosen), {}};
    for (ptrdiff_t i = 0; i < n; ++i) {
        const TokenId id = order[static_cast<size_t>(i)];
        result.top.push_back({id, logprob(id), {}});
    }
    return result;
}

}  // namespace chasqui
