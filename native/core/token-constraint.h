// Thread: one at a time; constraints of different sequences are independent.
#pragma once

#include "deadline.h"
#include "job.h"

#include <cstddef>
#include <exception>
#include <vector>

namespace chasqui {

// A call of a constraint passed its deadline.
class ConstraintTimeout : public std::exception {
public:
    const char* what() const noexcept override { return "the grammar takes too long"; }
};

// Restricts a text, as a grammar does. Follows the text token by token and decides which tokens may come next.
class TokenConstraint {
public:
    virtual ~TokenConstraint() = default;

    // Whether `token` may come next.
    virtual bool allows(TokenId token) = 0;
    // Removes the tokens that may not come next; keeps the order of the others.
    virtual void filter(std::vector<TokenId>& tokens) = 0;
    // All tokens that may come next, unordered. Much slower than the other two.
    virtual std::vector<TokenId> allowed() = 0;
    // Appends an allowed token to the text.
    virtual void accept(TokenId token) = 0;
    // After `deadline` (nullptr: never) the calls above throw ConstraintTimeout. Then allows(), filter() and allowed()
    // can be called again, but a constraint whose accept() timed out is unusable. `deadline` must outlive the
    // constraint or be replaced. Constraints whose calls take a bounded time may ignore it.
    virtual void set_deadline(const Deadline* /*deadline*/) {}
    // Approximate memory in bytes; 0: little.
    virtual size_t size_bytes() const { return 0; }
};

}  // namespace chasqui
