// Thread: one at a time; samplers of different sequences are independent.
#pragma once

#include "event.h"
#include "job.h"
#include "reasoning-budget.h"
#include "recent-tokens.h"
#include "sampler-chain.h"
#include "token-constraint.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

// Chooses the next token from one row of logits. The settings mean the same as in llama.cpp and are applied in its
// order (logit_bias, penalties, top_k, top_p, min_p, temperature). Tokens that cannot be chosen are neither copied nor
// sorted: greedy sampling is one pass, and top_k selects before it sorts. A SamplerChain handles other samplers and
// other orders.
//
// A constraint applies before top_k, but is expensive. So a token is first drawn without it. Only if the constraint
// refuses that token are the others checked and a second one drawn. llama.cpp does the same, so equal seeds draw equal
// tokens.
//
// Banned end-of-generation tokens are chosen nevertheless if the constraint allows nothing else: the text is complete.
//
// Once the reasoning budget is spent, the tokens that end the reasoning are returned and nothing is drawn.
class Sampler {
public:
    explicit Sampler(const SamplingSettings& settings, std::shared_ptr<TokenConstraint> constraint = nullptr,
                     std::shared_ptr<ReasoningBudget> reasoning = nullptr);
    ~Sampler();
    Sampler(const Sampler&)            = delete;
    Sampler& operator=(const Sampler&) = delete;

    // Whether a token may take longer than a step can wait.
    bool may_be_slow() const { return constraint_ != nullptr || chain_ != nullptr; }
    // Deadline of the constraint; any thread may change it. Without a constraint, sampling takes a bounded time.
    Deadline& deadline() { return deadline_; }
    // The constraint does not apply to tokens of the prompt.
    void accept_prompt(TokenId token) { remember_token(token); }
    // Text that the constraint lets expect next, in at most about `n_max` bytes; empty: unknown.
    std::string likely_text(size_t n_max);
    // Appends the sampled token to the text.
    void accept(TokenId token);
    // Chooses from `logits` (n_vocab floats, unchanged on return). Advances the random state by one draw unless greedy,
    // by two if the constraint refused the first token, and not at all while reasoning is being ended. Throws
    // `invalid_grammar` if the constraint allows no token, and ConstraintTimeout at the deadline; a repeated call then
    // has the same result.
    TokenId sample(float* logits, int32_t n_vocab);
    // Log-probabilities (natural logarithm) of the token just sampled from `logits` and of the `n_top` most probable
    // tokens: the model's own, or after all samplers if the settings say so; then there may be fewer. Their `bytes` are
    // empty: only the tokenizer knows them.
    Logprobs logprobs_of(const float* logits, int32_t n_vocab, TokenId chosen, int32_t n_top);

private:
    std::optional<TokenId> forced_token();
    void remember_token(TokenId token);
    void adjust(float* logits, int32_t n_vocab);
    void penalise(float* logits, int32_t n_vocab);
    void restore(float* logits);
    void remember(TokenId token, const float* logits) { changed_.push_back({token, logits[token]}); }

    TokenId choose(const float* logits, int32_t n_vocab);
    TokenId choose_allowed(const float* logits, int32_t n_vocab);
    bool    is_banned_end(TokenId token) const;
    bool    collect_allowed_of_largest(const float* logits, int32_t n_vocab);
    bool    is_greedy() const { return settings_.temperature <= 0.0f || settings_.top_k == 1; }
    TokenId draw_from_all(const float* logits, int32_t n_vocab);
    TokenId draw_from_candidates();
    void    collect_candidates(const float* logits, int32_t n_vocab);
    void    collect_nucleus(const float* logits, int32_t n_vocab);
    void    select_largest(const float* logits, int32_t n_vocab, size_t k);
    void    find_block_maxima(const float* logits, int32_t n_vocab);
    float   lower_bound_of_largest(size_t k);
    void    keep_top_p();
    void    keep_min_p();

    SamplingSettings       settings_;
    bool                   has_penalties_;
    RecentTokens           recent_;
    std::mt19937           random_;

    std::unique_ptr<SamplerChain> chain_;  // nullptr for most jobs

    Deadline                         deadline_;
    std::shared_ptr<TokenConstraint> constraint_;
    std::shared_ptr<ReasoningBudget> reasoning_;  // nullptr: no limit

    std::vector<Candidate> changed_;  // original logits of the tokens changed by adjust()
    std::vector<Candidate> candidates_;
    std::vector<float>     weights_;
    std::vector<float>     block_maxima_;   // of the last call of select_largest()
    std::vector<float>     sorted_maxima_;  // partially sorted copy
    std::vector<TokenId>   checked_;        // tokens to be checked by the constraint
    std::vector<float>     masked_;         // logits, minus infinity for tokens that the constraint refuses
};

// The first token with the largest logit.
TokenId argmax(const float* logits, int32_t n_vocab);

// Log-probabilities of the model's own distribution; see Sampler::logprobs_of().
Logprobs logprobs_of(const float* logits, int32_t n_vocab, TokenId chosen, int32_t n_top);

}  // namespace chasqui
