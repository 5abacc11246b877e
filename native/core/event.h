// Thread: filled by the engine's, read by JavaScript's, never by both at a time.
#pragma once

#include "error-code.h"
#include "job.h"
#include "status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chasqui {

struct TokenLogprob {
    TokenId     id = 0;
    float       logprob = 0.0f;
    std::string bytes;
};

struct Logprobs {
    TokenLogprob              chosen;
    std::vector<TokenLogprob> top;  // most probable first
};

struct Timings {
    double queued_ms = 0, prompt_ms = 0, predicted_ms = 0;
};

struct Finish {
    SequenceStatus status = SequenceStatus::stopped;
    std::string    stop_string;  // empty: no stop string ended it
    int32_t        prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
    int32_t        drafted_tokens = 0, accepted_tokens = 0;  // by speculative decoding
    Timings        timings;
};

struct Failure {
    ErrorCode             code = ErrorCode::decode_failed;
    std::string           message;
    std::optional<size_t> image = std::nullopt;  // which of the job's images it is about
};

// What all sequences produced since JavaScript last took events, as columns, so that one call from C++ into JavaScript
// carries any number of tokens.
//
//   records   │ job, token, 3 units, -      │ job, token, 2 units, finish │ ...
//   text      │ "abc"                       │ "de"                        │ ...     (UTF-8, one after another)
//   finishes  │                             │ {...}                       │ ...     (one per record with the flag)
struct EventBatch {
    // `is_progress`: no token, but how many of the prompt's tokens are computed, in its place.
    enum Flag : uint32_t { has_finish = 1, has_logprobs = 2, has_failure = 4, is_progress = 8 };

    struct Record {
        uint32_t job_id;
        TokenId  token;
        uint32_t text_units;  // length in UTF-16 code units, which is how JavaScript slices
        uint32_t flags;
    };

    std::vector<Record>   records;
    std::string           text;
    std::vector<Finish>   finishes;
    std::vector<Logprobs> logprobs;
    std::vector<Failure>  failures;

    bool empty() const { return records.empty(); }
    void append(EventBatch&& later);
};

}  // namespace chasqui
