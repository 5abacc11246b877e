// Thread: filled by the engine's, then read by JavaScript's, never by both at once.
#pragma once

#include "error-code.h"
#include "job.h"
#include "status.h"

#include <cstddef>
#include <cstdint>
#include <exception>
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
    std::string    stop_string;  // empty: not ended by a stop string
    int32_t        prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
    int32_t        drafted_tokens = 0, accepted_tokens = 0;  // by speculative decoding
    Timings        timings;
};

struct Failure {
    ErrorCode             code = ErrorCode::decode_failed;
    std::string           message;
    std::optional<size_t> image = std::nullopt;  // index of the job's image that caused it

    // `out_of_memory` for std::bad_alloc, the code of an Error, otherwise `decode_failed`.
    static Failure of(const std::exception& error);
};

// The output of all sequences since JavaScript last took events. It is stored as columns, so one call from C++ into
// JavaScript carries any number of tokens:
//
//   records   │ job, token, 3 units, -      │ job, token, 2 units, finish │ ...
//   text      │ "abc"                       │ "de"                        │ ...     (UTF-8, concatenated)
//   finishes  │                             │ {...}                       │ ...     (one per record with the flag)
struct EventBatch {
    // `is_progress`: `token` is the number of computed prompt tokens. `is_prompt`: the token is one of the prompt.
    enum Flag : uint32_t { has_finish = 1, has_logprobs = 2, has_failure = 4, is_progress = 8, is_prompt = 128 };

    struct Record {
        uint32_t job_id;
        TokenId  token;
        uint32_t text_units;  // in UTF-16 code units, the indices of JavaScript strings
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
