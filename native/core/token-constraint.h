// Thread: one at a time; constraints of different sequences are independent.
#pragma once

#include "job.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <vector>

namespace chasqui {

// The time at which work must stop. The working thread polls it; any thread may change it.
class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    void set(Clock::time_point at) { at_.store(at.time_since_epoch().count(), std::memory_order_relaxed); }
    void clear() { set(Clock::time_point::max()); }
    void expire() { set(Clock::time_point::min()); }
    bool is_over() const { return Clock::now().time_since_epoch().count() >= at_.load(std::memory_order_relaxed); }

private:
    std::atomic<Clock::rep> at_{Clock::time_point::max().time_since_epoch().count()};
};

// A call of a constraint passed its deadline.
class ConstraintTimeout : public std::exception {
public:
    const char* what() const noexcept override { return "the grammar takes too long"; }
};

// Restricts a text, as a grammar does. Follows the text token by token and decides which tokens may come next.
class TokenConstraint {
public:
    virtual ~TokenConstraint() = default;

    virtual bool allows(TokenId token) = 0;
    virtual void filter(std::vector<TokenId>& tokens) = 0;
    // All tokens that may come next, unordered. Much slower than the other two.
    virtual std::vector<TokenId> allowed() = 0;
    virtual void accept(TokenId token) = 0;
    // Text that is likely to come next, in at most about `n_max` bytes; empty: unknown.
    virtual std::string likely_text(size_t /*n_max*/) { return {}; }
    // Whether the text is now that of a tool call.
    virtual bool is_call() const { return false; }
    // After `deadline` (nullptr: never) the calls above throw ConstraintTimeout. Then allows(), filter() and allowed()
    // can be called again, but after a timeout in accept() the constraint is unusable. `deadline` must outlive the
    // constraint or be replaced. Constraints with bounded calls may ignore it.
    virtual void set_deadline(const Deadline* /*deadline*/) {}
    // Approximate memory in bytes; 0: little.
    virtual size_t size_bytes() const { return 0; }
};

}  // namespace chasqui
