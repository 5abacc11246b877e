// Thread: engine. Sampling runs on its own thread, which calls `on_done`.
#pragma once

#include "event.h"
#include "sampler.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace chasqui {

// Decides from the times of the last tokens whether a sequence's next token is sampled within the step or by the slow
// sampler. All sequences of a step wait for each other, so none may exceed its share of the step.
class SamplingPace {
public:
    bool is_slow() const { return is_slow_; }
    // A token took `milliseconds`; its share of the step is or would have been `share`, in milliseconds.
    void observe(double milliseconds, double share);

private:
    bool is_slow_    = false;
    int  n_exceeded_ = 0;
    int  n_quick_    = 0;  // consecutive tokens
};

// A token to sample, then the result.
struct SlowSample {
    uint32_t                 job_id = 0;
    std::unique_ptr<Sampler> sampler;
    std::vector<float>       logits;
    int32_t                  n_top = -1;  // number of alternatives with log-probabilities; -1: no log-probabilities

    TokenId                 token = 0;
    std::optional<Logprobs> logprobs;
    std::optional<Failure>  failure;
    double                  milliseconds = 0;
};

// Samples tokens under grammars that take longer than a step can wait, one token per job in turn. A slow grammar delays
// only jobs with slow grammars.
class SlowSampler {
public:
    using OnDone = std::function<void(std::unique_ptr<SlowSample>)>;

    // A job fails if its grammar takes this long for one token.
    static constexpr std::chrono::seconds kTimeout{5};

    // `prepare_thread` runs first on the thread.
    SlowSampler(std::function<void()> prepare_thread, OnDone on_done);
    ~SlowSampler();

    void submit(std::unique_ptr<SlowSample> sample);
    // The job is over: drops its sample or, if it is being sampled, interrupts it and returns it with a failure.
    void cancel(uint32_t job_id);
    // Interrupts the current sample, drops the others and joins the thread. Idempotent.
    void close();

private:
    void run() noexcept;

    std::function<void()>                   prepare_thread_;
    OnDone                                  on_done_;
    std::mutex                              mutex_;
    std::condition_variable                 changed_;
    std::deque<std::unique_ptr<SlowSample>> queue_;
    SlowSample*                             current_ = nullptr;
    bool                                    closing_ = false;
    std::thread                             thread_;  // started with the first sample
};

}  // namespace chasqui
