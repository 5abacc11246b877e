// Thread: add_token(), add_failure() and publish() engine; the others any.
#pragma once

#include "event.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace chasqui {

// Collects the output of a step and wakes JavaScript once, however many sequences and tokens there are.
//
//   add ──▶ events of the step ──publish──▶ pending ──take──▶
//                                   └─ on_events, once
class Outbox {
public:
    // Called on the engine thread when events become pending.
    void set_on_events(std::function<void()> on_events);

    // `finish` is set if the job ended with this token.
    void add_token(uint32_t job_id, TokenId token, const std::string& text, std::optional<Logprobs> logprobs,
                   std::optional<Finish> finish);
    void add_prompt_token(uint32_t job_id, Logprobs logprobs);
    void add_failure(uint32_t job_id, Failure failure);
    // `n_computed` tokens of the job's prompt are computed, but not all.
    void add_progress(uint32_t job_id, size_t n_computed);
    void publish();

    // Takes all events published since the last call.
    EventBatch take();

private:
    EventBatch            step_;
    std::mutex            wake_mutex_;
    std::function<void()> on_events_;
    std::mutex            pending_mutex_;
    EventBatch            pending_;
};

}  // namespace chasqui
