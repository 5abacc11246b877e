// Thread: built on the JS thread, then owned by the engine thread.
#pragma once

#include "adapter-set.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace chasqui {

class Media;
class TokenConstraint;

using TokenId = int32_t;

// Is added to a token's logit before any other sampling step; minus infinity bans the token.
struct LogitBias {
    TokenId token;
    float   bias;
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

    std::vector<LogitBias> logit_bias;
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
    bool                         ignore_eos   = false;  // end-of-generation tokens are banned
    std::vector<std::string>     stop;                  // none of them empty
    std::vector<size_t>          snapshot_at;           // ascending (snapshot-points.h)
    SamplingSettings             sampling;
    AdapterSet                   adapters;

    std::vector<std::string>                 preserved_tokens;  // control tokens that are part of the text, by name ...
    std::unordered_map<TokenId, std::string> preserved_pieces;  // ... and by id, once submitted
    std::shared_ptr<TokenConstraint>         constraint;        // of this job alone; nullptr: any token is allowed
};

}  // namespace chasqui
