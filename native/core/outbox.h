// Thread: add() and publish() engine; the others any.
#pragma once

#include "event.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace chasqui {

// What sequences have produced, on its way out of the engine: one wake for all of a step, however many sequences and
// tokens.
//
//   add ──▶ events of the step ──publish──▶ pending ──take──▶
//                                   └─ on_events, once
class Outbox {
public:
    // Called on the engine thread when events are pending that were not before.
    void set_on_events(std::function<void()> on_events);

    // A token of a job, its text, and, where there are any, its log-probabilities and what ended the job with it.
    void add_token(uint32_t job_id, TokenId token, const std::string& text, std::optional<Logprobs> logprobs,
                   std::optional<Finish> finish);
    void add_failure(uint32_t job_id, Failure failure);
    void publish();

    // Everything that was published since the last call.
    EventBatch take();

private:
    EventBatch            step_;
    std::mutex            wake_mutex_;
    std::function<void()> on_events_;
    std::mutex            pending_mutex_;
    EventBatch            pending_;
};

}  // namespace chasqui
