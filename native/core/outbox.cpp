#include "outbox.h"

#include "utf8-buffer.h"

#include <utility>

namespace chasqui {

void Outbox::set_on_events(std::function<void()> on_events) {
    const std::lock_guard<std::mutex> lock(wake_mutex_);
    on_events_ = std::move(on_events);
}

void Outbox::add_token(uint32_t job_id, TokenId token, const std::string& text, std::optional<Logprobs> logprobs,
                       std::optional<Finish> finish) {
    uint32_t flags = 0;
    if (logprobs) {
        flags |= EventBatch::has_logprobs;
        step_.logprobs.push_back(*std::move(logprobs));
    }
    if (finish) {
        flags |= EventBatch::has_finish;
        step_.finishes.push_back(*std::move(finish));
    }
    step_.records.push_back({job_id, token, utf16_length(text), flags});
    step_.text += text;
}

void Outbox::add_prompt_token(uint32_t job_id, Logprobs logprobs) {
    step_.records.push_back({job_id, logprobs.chosen.id, 0, EventBatch::has_logprobs | EventBatch::is_prompt});
    step_.logprobs.push_back(std::move(logprobs));
}

void Outbox::add_failure(uint32_t job_id, Failure failure) {
    step_.records.push_back({job_id, 0, 0, EventBatch::has_failure});
    step_.failures.push_back(std::move(failure));
}

void Outbox::add_progress(uint32_t job_id, size_t n_computed) {
    step_.records.push_back({job_id, static_cast<TokenId>(n_computed), 0, EventBatch::is_progress});
}

void Outbox::publish() {
    if (step_.empty()) return;
    bool is_first;
    {
        const std::lock_guard<std::mutex> lock(pending_mutex_);
        is_first = pending_.empty();
        pending_.append(std::exchange(step_, {}));
    }
    if (!is_first) return;
    // Unlock the pending events first: the woken thread may preempt this one and read them at once.
    const std::lock_guard<std::mutex> lock(wake_mutex_);
    if (on_events_) on_events_();
}

EventBatch Outbox::take() {
    const std::lock_guard<std::mutex> lock(pending_mutex_);
    return std::exchange(pending_, {});
}

}  // namespace chasqui
