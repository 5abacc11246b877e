// Thread: one at a time; samplers of different sequences are independent.
#pragma once

#include "event.h"
#include "job.h"
#include "token-constraint.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace chasqui {

// Counts the tokens that the penalties look at: the last `repeat_last_n`, prompt included.
class RecentTokens {
public:
    explicit RecentTokens(int32_t capacity) : capacity_(capacity) {}  // 0: none, -1: all
    void                                        add(TokenId token);
    const std::unordered_map<TokenId, int32_t>& counts() const { return counts_; }

private:
    int32_t                              capacity_;
    std::deque<TokenId>                  order_;
    std::unordered_map<TokenId, int32_t> counts_;
};

// Chooses the next token from one row of logits. Settings mean what they mean in llama.cpp, applied in its order
// (logit_bias, penalties, top_k, top_p, min_p, temperature), but nothing is copied or sorted that cannot be chosen: greedy is one
// pass, top_k selects before it sorts.
//
// A constraint comes before top_k, but is asked about the sampled token first: only when that one is refused are the
// others looked at, and a second one is drawn. llama.cpp's samplers do the same, so that a seed means the same.
class Sampler {
public:
    explicit Sampler(const SamplingSettings& settings, std::shared_ptr<TokenConstraint> constraint = nullptr);
    ~Sampler();
    Sampler(const Sampler&)            = delete;
    Sampler& operator=(const Sampler&) = delete;

    bool is_constrained() const { return constraint_ != nullptr; }
    // When the constraint breaks off; may be changed by any thread. Without one a sampler takes a bounded time.
    Deadline& deadline() { return deadline_; }
    // A token of the prompt, which the constraint does not apply to.
    void accept_prompt(TokenId token) { recent_.add(token); }
    // The sampled token is part of the text from now on.
    void accept(TokenId token);
    // Chooses from `logits` (n_vocab floats, unchanged on return). Advances the random state by one draw unless greedy,
    // by two when the constraint refused the first. Throws `invalid_grammar` when the constraint allows no token, and
    // ConstraintTimeout at the deadline: the sampler is then as it was before, to be asked again.
    TokenId sample(float* logits, int32_t n_vocab);

private:
    struct Candidate {
        TokenId id;
        float   logit;
    };

    void adjust(float* logits, int32_t n_vocab);
    void penalise(float* logits, int32_t n_vocab);
    void restore(float* logits);
    void remember(TokenId token, const float* logits) { changed_.push_back({token, logits[token]}); }

    TokenId choose(const float* logits, int32_t n_vocab);
    TokenId choose_allowed(const float* logits, int32_t n_vocab);
    bool    collect_allowed_of_largest(const float* logits, int32_t n_vocab);
    bool    is_greedy() const { return settings_.temperature <= 0.0f || settings_.top_k == 1; }
    TokenId draw_from_all(const float* logits, int32_t n_vocab);
    TokenId draw_from_candidates();
    void    collect_candidates(const float* logits, int32_t n_vocab);
    void    collect_nucleus(const float* logits, int32_t n_vocab);
    void    select_largest(const float* logits, int32_t n_vocab, size_t k);
    void    keep_top_p();
    void    keep_min_p();

    SamplingSettings       settings_;
    bool                   has_penalties_;
    RecentTokens           recent_;
    std::mt19937           random_;

    Deadline                         deadline_;
    std::shared_ptr<TokenConstraint> constraint_;

    std::vector<Candidate> changed_;  // logits as they were before adjust()
    std::vector<Candidate> candidates_;
    std::vector<float>     weights_;
    std::vector<TokenId>   asked_;    // of the constraint
    std::vector<float>     masked_;   // logits with minus infinity for what the constraint refuses
};

// The first token with the largest logit.
TokenId argmax(const float* logits, int32_t n_vocab);

// Log-probabilities (natural logarithm, of the model's own distribution) of `chosen` and of the `n_top` most probable
// tokens. `bytes` stay empty: only the tokenizer knows them.
Logprobs logprobs_of(const float* logits, int32_t n_vocab, TokenId chosen, int32_t n_top);

}  // namespace chasqui
