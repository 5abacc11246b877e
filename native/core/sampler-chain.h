// Thread: one at a time; chains of different sequences are independent.
#pragma once

#include "event.h"
#include "job.h"
#include "recent-tokens.h"
#include "repetitions.h"

#include <cstdint>
#include <random>
#include <vector>

namespace chasqui {

// A token that may be chosen.
struct Candidate {
    TokenId id;
    float   logit;
};

// Applies any of llama.cpp's samplers in any order, as llama.cpp does it, one after another to a list of all tokens. It
// is for jobs that ask for what Sampler's shortcuts do not have, and costs a pass over the vocabulary for each token.
class SamplerChain {
public:
    // The state that choosing a token changes.
    struct State {
        std::mt19937 draws, xtc_draws;
        float        surprise;  // mirostat's limit
        float        adaptive_sum, adaptive_weight;
    };

    static bool is_needed(const SamplingSettings& settings);

    explicit SamplerChain(const SamplingSettings& settings);

    // The token becomes part of the text, or is part of the prompt.
    void accept(TokenId token);
    // Chooses from `logits`, which include biases. Tokens with a logit of minus infinity are not chosen unless
    // there are no others.
    TokenId choose(const float* logits, int32_t n_vocab);
    // `token` was chosen as the only candidate.
    void    force(TokenId token);
    // Returns the log-probabilities after all samplers of the last choice: those of the chosen token and of at most
    // `n_top` candidates, without their `bytes`.
    Logprobs logprobs_of(TokenId chosen, int32_t n_top);

    State state() const { return {draws_, xtc_draws_, surprise_, adaptive_sum_, adaptive_weight_}; }
    void  restore(const State& state);
    // The token that was chosen since then is refused, and another will be chosen: what was drawn stays drawn, but
    // mirostat and adaptive-p do not learn from it.
    void  forget_choice(const State& before);

private:
    void apply(SamplerKind kind);
    void penalise();
    void penalise_repetitions();
    void keep_top_n_sigma();
    void keep_top_k();
    void keep_typical_p();
    void keep_top_p();
    void keep_min_p();
    void exclude_top_choices();
    void apply_temperature(float temperature);
    void apply_dynamic_temperature();
    TokenId draw();
    TokenId draw_mirostat(int32_t n_vocab);
    TokenId draw_mirostat_v2();
    TokenId draw_surprising();
    TokenId draw_adaptively();
    // Returns the place of a candidate.
    size_t  draw_by_probability();

    // Calls `change(logit, value)` for each candidate that is among the keys of `tokens`.
    template <typename Tokens, typename Change>
    void  for_each_of(const Tokens& tokens, const Change& change);
    void  drop_impossible();
    void  sort();
    float largest_logit() const;
    void  compute_probabilities();

    SamplingSettings         settings_;
    std::vector<SamplerKind> order_;
    RecentTokens             recent_;
    Repetitions              repetitions_;
    std::mt19937             draws_, xtc_draws_;
    float                    surprise_;
    // Decayed sums over the drawn tokens: their probabilities before the change, and 1 for each.
    float                    adaptive_sum_, adaptive_weight_;

    std::vector<Candidate> candidates_;
    bool                   is_indexed_ = false;  // each candidate is at the place of its id
    bool                   is_sorted_  = false;  // most probable first
    std::vector<float>     probabilities_;       // of the candidates
};

}  // namespace chasqui
