// Thread: engine; sampling happens on a thread of its own, which calls `on_done`.
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

// Whether a sequence is sampled within its step or aside: by how long its last tokens took. Within a step everybody waits
// for it, so it has a share of the step and no more.
class SamplingPace {
public:
    bool is_slow() const { return is_slow_; }
    // A token took so long, where its share of a step is or would have been so much.
    void took(double milliseconds, double share);

private:
    bool is_slow_    = false;
    int  n_exceeded_ = 0;
    int  n_quick_    = 0;  // tokens in a row
};

// A token to be sampled, and then what came of it.
struct SlowSample {
    uint32_t                 job_id = 0;
    std::unique_ptr<Sampler> sampler;
    std::vector<float>       logits;
    int32_t                  n_top = -1;  // log-probabilities that are wanted; -1: none, not of the token either

    TokenId                 token = 0;
    std::optional<Logprobs> logprobs;
    std::optional<Failure>  failure;
    double                  milliseconds = 0;
};

// Samples for those whose grammar takes longer than a step can wait. They take turns, token by token, so that one costs
// itself and others of its kind time, and nobody else any.
class SlowSampler {
public:
    using OnDone = std::function<void(std::unique_ptr<SlowSample>)>;

    // A grammar that takes this long for one token ends its job.
    static constexpr std::chrono::seconds kLongest{5};

    // `prepare_thread` is called on the thread before anything else.
    SlowSampler(std::function<void()> prepare_thread, OnDone on_done);
    // close()
    ~SlowSampler();

    void submit(std::unique_ptr<SlowSample> sample);
    // Nobody wants it any more: it is dropped, or breaks off and comes back with a failure.
    void cancel(uint32_t job_id);
    // Breaks off what is under way, drops the rest and joins the thread. Any number of times.
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
    std::thread                             thread_;  // begins with the first that is submitted
};

}  // namespace chasqui
