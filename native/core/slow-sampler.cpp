#include "slow-sampler.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace chasqui {

namespace {

// A grammar is only slow in places. So a sequence returns to sampling within its step after kQuickTokens quick tokens,
// unless it has exceeded its share kMaxExceeded times, because each time the other sequences wait. One excess is
// forgiven after every kForgivingTokens quick tokens.
constexpr int kQuickTokens     = 8;
constexpr int kMaxExceeded     = 8;
constexpr int kForgivingTokens = 256;

void sample(SlowSample& sample) {
    const auto n_vocab = static_cast<int32_t>(sample.logits.size());
    try {
        Sampler& sampler = *sample.sampler;
        sample.token     = sampler.sample(sample.logits.data(), n_vocab);
        if (sample.n_top >= 0) {
            sample.logprobs = sampler.logprobs_of(sample.logits.data(), n_vocab, sample.token, sample.n_top);
        }
        sampler.accept(sample.token);
    } catch (const ConstraintTimeout&) {
        sample.failure = Failure{ErrorCode::invalid_grammar, "The grammar takes more than " +
                                                                 std::to_string(SlowSampler::kTimeout.count()) +
                                                                 " seconds for one token. Make it less ambiguous."};
    } catch (const std::exception& error) {
        sample.failure = Failure::of(error);
    }
}

}  // namespace

void SamplingPace::observe(double milliseconds, double share) {
    if (milliseconds >= share) {
        n_exceeded_ += is_slow_ ? 0 : 1;
        n_quick_ = 0;
        is_slow_ = true;
        return;
    }
    ++n_quick_;
    if (n_quick_ % kForgivingTokens == 0 && n_exceeded_ > 0) --n_exceeded_;
    if (n_quick_ >= kQuickTokens && n_exceeded_ < kMaxExceeded) is_slow_ = false;
}

SlowSampler::SlowSampler(std::function<void()> prepare_thread, OnDone on_done)
    : prepare_thread_(std::move(prepare_thread)), on_done_(std::move(on_done)) {}

SlowSampler::~SlowSampler() { close(); }

void SlowSampler::submit(std::unique_ptr<SlowSample> sample) {
    try {
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        sample->failure = Failure{ErrorCode::out_of_memory, "Could not start a thread for the grammar."};
        return on_done_(std::move(sample));
    }
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        queue_.push_back(std::move(sample));
    }
    changed_.notify_one();
}

void SlowSampler::cancel(uint32_t job_id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (current_ != nullptr && current_->job_id == job_id) current_->sampler->deadline().expire();
    const auto is_its = [=](const auto& sample) { return sample->job_id == job_id; };
    queue_.erase(std::remove_if(queue_.begin(), queue_.end(), is_its), queue_.end());
}

void SlowSampler::close() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
        if (current_ != nullptr) current_->sampler->deadline().expire();
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void SlowSampler::run() noexcept {
    prepare_thread_();
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (closing_) return;
        std::unique_ptr<SlowSample> next = std::move(queue_.front());
        queue_.pop_front();
        current_           = next.get();
        const auto started = Deadline::Clock::now();
        next->sampler->deadline().set(started + kTimeout);
        lock.unlock();
        sample(*next);
        lock.lock();
        current_ = nullptr;
        next->sampler->deadline().clear();
        next->milliseconds = std::chrono::duration<double, std::milli>(Deadline::Clock::now() - started).count();
        lock.unlock();
        on_done_(std::move(next));
        lock.lock();
    }
}

}  // namespace chasqui
