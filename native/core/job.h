// Thread: built on the JS thread, then owned by the engine thread.
#pragma once

#include "cache-scope.h"
#include "reasoning-pairs.h"
#include "sampling-fields.h"

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

// The samplers of a chain, in their default order.
enum class SamplerKind : uint8_t {
#define CHASQUI_SAMPLER(kind) kind,
    CHASQUI_SAMPLERS(CHASQUI_SAMPLER)
#undef CHASQUI_SAMPLER
};

// The token sequences that end a repetition for the sampler `dry`, made from texts such as a line break.
struct Breakers {
    std::vector<bool> complete;  // by token: whether it contains such a text
    // By a token that ends with the first part of such a text: the tokens that complete it.
    std::unordered_map<TokenId, std::vector<std::vector<TokenId>>> tails;
};

// How the next token is chosen; ts/options/sampling-table.ts documents the numbers.
struct SamplingSettings {
#define CHASQUI_NUMBER(type, field, name, neutral) type field = neutral;
    CHASQUI_SAMPLING_NUMBERS(CHASQUI_NUMBER)
#undef CHASQUI_NUMBER
    uint32_t seed = 0;

    std::vector<std::string>        dry_breaker_texts;  // none of them empty
    std::shared_ptr<const Breakers> dry_breakers;       // set by Engine::submit(); nullptr: none

    std::vector<SamplerKind> samplers;  // empty: those of the default order
    std::vector<LogitBias>   logit_bias;
    // End-of-generation tokens that are banned, except where a constraint allows nothing else.
    std::vector<TokenId>     banned_ends;

    bool logprobs_after = false;  // log-probabilities are those of the draw instead of the model's
};

struct ReasoningLimit {
    std::vector<ReasoningPair> pairs;       // never empty; at the limit, the first closing tag of a pair is written
    std::string                prompt_end;  // end of the prompt, which may contain an opening tag
    size_t                     max_tokens = 0;
    std::vector<TokenId>       message;  // written before the closing tag
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
    int32_t                      prompt_logprobs = -1;  // the same for the tokens of the prompt
    bool                         cache_prompt = true;   // may start from a cached prefix
    std::string                  cache_salt;            // see CacheScope
    bool                         ignore_eos   = false;  // bans end-of-generation tokens, once submitted
    std::vector<std::string>     stop;                  // without empty ones; not within reasoning and tool calls
    std::vector<std::string>     format_stops;          // everywhere
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

    CacheScope cache_scope() const { return {adapters, cache_salt}; }
};

}  // namespace chasqui
