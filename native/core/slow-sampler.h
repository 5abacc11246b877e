// Thread: engine. Sampling runs on a thread of its own, which calls `on_done`.
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

// Decides whether a sequence's next token is sampled within the step or by the slow sampler, from how long its last
// tokens took. All sequences of a step wait for each other, so one may take no more than its share of the step.
class SamplingPace {
public:
    bool is_slow() const { return is_slow_; }
    // A token took `milliseconds`; its share of a step is, or would have been, `share`.
    void observe(double milliseconds, double share);

private:
    bool is_slow_    = false;
    int  n_exceeded_ = 0;
    int  n_quick_    = 0;  // tokens in a row
};

// A token to be sampled, and then the result.
struct SlowSample {
    uint32_t                 job_id = 0;
    std::unique_ptr<Sampler> sampler;
    std::vector<float>       logits;
    int32_t                  n_top = -1;  // log-probabilities wanted beside the token's own; -1: none at all

    TokenId                 token = 0;
    std::optional<Logprobs> logprobs;
    std::optional<Failure>  failure;
    double                  milliseconds = 0;
};

// Samples tokens whose grammar takes longer than a step can wait, token by token in turn: a slow grammar delays its own
// sequence and the others of this kind, and no other.
class SlowSampler {
public:
    using OnDone = std::function<void(std::unique_ptr<SlowSample>)>;

    // A grammar that takes this long for one token ends its job.
    static constexpr std::chrono::seconds kTimeout{5};

    // `prepare_thread` is called on the thread before anything else.
    SlowSampler(std::function<void()> prepare_thread, OnDone on_done);
    // close()
    ~SlowSampler();

    void submit(std::unique_ptr<SlowSample> sample);
    // The job is over: its sample is dropped or, if it is being sampled, breaks off and is returned with a failure.
    void cancel(uint32_t job_id);
    // Breaks off the current sample, drops the others and joins the thread. May be called any number of times.
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
    std::thread                             thread_;  // starts with the first sample
};

}  // namespace chasqui
