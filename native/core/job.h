// Thread: built on the JS thread, then owned by the engine thread.
#pragma once

#include "adapter-set.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace chasqui {

class Media;
class ReasoningBudget;
class TokenConstraint;

using TokenId = int32_t;

// Added to a token's logit before all other sampling steps; minus infinity bans the token.
struct LogitBias {
    TokenId token;
    float   bias;
};

// The samplers of the chain, in their default order.
enum class SamplerKind : uint8_t { penalties, dry, top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature };

// Sequence breakers of the sampler `dry`, such as a line break, as tokens.
struct Breakers {
    std::vector<bool> complete;  // by token: whether its text contains a breaker
    // By a token that ends with the first part of a breaker: the token sequences that complete it.
    std::unordered_map<TokenId, std::vector<std::vector<TokenId>>> tails;
};

// DRY ("don't repeat yourself"): penalises tokens that would continue a repetition of earlier text.
struct DrySettings {
    float   multiplier     = 0.0f;  // 0: off
    float   base           = 1.75f;
    int32_t allowed_length = 2;
    int32_t last_n         = 64;  // length of the text to search, in tokens; -1: all

    std::vector<std::string>        breaker_texts;  // without empty ones
    std::shared_ptr<const Breakers> breakers;       // the same as tokens, set on submission; nullptr: none
};

// `ts/engine/job.ts` documents each field.
struct SamplingSettings {
    float    temperature       = 1.0f;
    int32_t  top_k             = 0;
    float    top_p             = 1.0f;
    float    min_p             = 0.0f;
    float    repeat_penalty    = 1.0f;
    int32_t  repeat_last_n     = 64;
    float    presence_penalty  = 0.0f;
    float    frequency_penalty = 0.0f;
    uint32_t seed              = 0;

    // For sampler-chain.h.
    float       typical_p         = 1.0f;
    float       top_n_sigma       = -1.0f;
    float       xtc_probability   = 0.0f;
    float       xtc_threshold     = 0.1f;
    float       dynatemp_range    = 0.0f;
    float       dynatemp_exponent = 1.0f;
    int32_t     mirostat          = 0;  // version 1 or 2, which replaces all samplers except temperature
    float       mirostat_tau      = 5.0f;
    float       mirostat_eta      = 0.1f;
    DrySettings dry;

    std::vector<SamplerKind> samplers;  // empty: all, in their default order
    std::vector<LogitBias>   logit_bias;
    // End-of-generation tokens that are banned, unless a constraint allows nothing else.
    std::vector<TokenId>     banned_ends;

    bool logprobs_after = false;  // log-probabilities after all samplers, instead of the model's own
};

// Limits the reasoning in a completion (reasoning-budget.h).
struct ReasoningLimit {
    std::string              start;       // opening tag; never empty
    std::vector<std::string> ends;        // closing tags, never empty; the first one is written at the limit
    std::string              prompt_end;  // end of the prompt, which may contain the opening tag
    size_t                   max_tokens = 0;
    std::vector<TokenId>     message;  // written before the closing tag
};

// One generation. The scheduler and the sequence rely on fields that were validated before submission.
struct Job {
    uint32_t             id = 0;
    std::vector<TokenId> prompt;  // never empty
    // The images in the prompt (their tokens have negative ids); nullptr: none.
    std::shared_ptr<const Media> media;
    int32_t                      max_tokens   = -1;     // -1: until the end of text or of the context
    int32_t                      priority     = 0;      // higher ones first
    int32_t                      top_logprobs = -1;     // -1: no log-probabilities
    bool                         cache_prompt = true;   // may start from a cached prefix
    bool                         ignore_eos   = false;  // bans end-of-generation tokens, once submitted
    std::vector<std::string>     stop;                  // without empty ones
    std::vector<size_t>          snapshot_at;           // ascending (snapshot-points.h)
    // Whether to use prompt lookup. Draft lengths depend on measured times, and rows that are computed together may
    // round differently. So this is false for repeatable completions, unless rounding does not depend on the batch.
    bool                         drafts_from_text = true;
    SamplingSettings             sampling;
    AdapterSet                   adapters;

    std::vector<std::string>                 preserved_tokens;  // control tokens that are part of the text, by name ...
    std::unordered_map<TokenId, std::string> preserved_pieces;  // ... and by id, once submitted
    std::shared_ptr<TokenConstraint>         constraint;        // of this job only; nullptr: any token is allowed

    std::optional<ReasoningLimit>    reasoning_limit;
    std::shared_ptr<ReasoningBudget> reasoning_budget;  // the same, of this job only, once submitted; nullptr: no limit
};

}  // namespace chasqui
