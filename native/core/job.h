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

// Is added to a token's logit before any other sampling step; minus infinity bans the token.
struct LogitBias {
    TokenId token;
    float   bias;
};

// The members of the chain of samplers, in the order in which they are applied unless a job says otherwise.
enum class SamplerKind : uint8_t { penalties, dry, top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature };

// Where repetitions end for the sampler `dry`: at texts such as a line break, as tokens write them.
struct Breakers {
    std::vector<bool> complete;  // by token: whether it holds such a text by itself
    // Of tokens that end with the first part of such a text: the tokens that write the rest of it.
    std::unordered_map<TokenId, std::vector<std::vector<TokenId>>> tails;
};

// Penalises tokens that would go on with a repetition of earlier text: DRY, "don't repeat yourself".
struct DrySettings {
    float   multiplier     = 0.0f;  // 0: off
    float   base           = 1.75f;
    int32_t allowed_length = 2;
    int32_t last_n         = 64;  // how much of the text is looked at; -1: all

    std::vector<std::string>        breaker_texts;  // none of them empty
    std::shared_ptr<const Breakers> breakers;       // the same, once submitted; nullptr: none
};

// How the next token is chosen; `ts/engine/job.ts` documents each field.
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

    // Those of sampler-chain.h.
    float       typical_p         = 1.0f;
    float       top_n_sigma       = -1.0f;
    float       xtc_probability   = 0.0f;
    float       xtc_threshold     = 0.1f;
    float       dynatemp_range    = 0.0f;
    float       dynatemp_exponent = 1.0f;
    int32_t     mirostat          = 0;  // 1 or 2: that version, which takes the place of all samplers but temperature
    float       mirostat_tau      = 5.0f;
    float       mirostat_eta      = 0.1f;
    DrySettings dry;

    std::vector<SamplerKind> samplers;  // empty: all, in their usual order
    std::vector<LogitBias>   logit_bias;
    // End-of-generation tokens that are banned, but for where a constraint allows nothing else. Empty: none are.
    std::vector<TokenId>     banned_ends;

    bool logprobs_after = false;  // log-probabilities are those of the draw, and not the model's own
};

// How much of a completion may be reasoning (reasoning-budget.h).
struct ReasoningLimit {
    std::string              start;       // the tag that opens reasoning; never empty
    std::vector<std::string> ends;        // those that close it, of which the first is written at the limit; never empty
    std::string              prompt_end;  // the end of the prompt, which may have opened it
    size_t                   max_tokens = 0;
    std::vector<TokenId>     message;  // is written before the closing tag
};

// One generation. Its fields are checked before it is submitted; the scheduler and the sequence rely on that.
struct Job {
    uint32_t             id = 0;
    std::vector<TokenId> prompt;  // never empty
    // The images in the prompt, whose tokens have negative ids there; nullptr: none.
    std::shared_ptr<const Media> media;
    int32_t                      max_tokens   = -1;     // -1: until the end of text or of the context
    int32_t                      priority     = 0;      // higher ones first
    int32_t                      top_logprobs = -1;     // -1: no log-probabilities at all
    bool                         cache_prompt = true;   // start from a cached prefix
    bool                         ignore_eos   = false;  // end-of-generation tokens are banned, once submitted
    std::vector<std::string>     stop;                  // none of them empty
    std::vector<size_t>          snapshot_at;           // ascending (snapshot-points.h)
    // Tokens may be drafted from the text so far. How many depends on what steps took, and rows that are computed together
    // may round differently: where that is so, not if the same text is to come again.
    bool                         drafts_from_text = true;
    SamplingSettings             sampling;
    AdapterSet                   adapters;

    std::vector<std::string>                 preserved_tokens;  // control tokens that are part of the text, by name ...
    std::unordered_map<TokenId, std::string> preserved_pieces;  // ... and by id, once submitted
    std::shared_ptr<TokenConstraint>         constraint;        // of this job alone; nullptr: any token is allowed

    std::optional<ReasoningLimit>    reasoning_limit;
    std::shared_ptr<ReasoningBudget> reasoning_budget;  // the same, of this job alone, once submitted; nullptr: no limit
};

}  // namespace chasqui
