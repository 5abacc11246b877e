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

// Limits what a text may consist of, as a grammar does. It follows the text token by token and tells which tokens may
// come next.
class TokenConstraint {
public:
    virtual ~TokenConstraint() = default;

    // Whether the text may continue with `token`.
    virtual bool allows(TokenId token) = 0;
    // Removes the tokens from the list that the text may not continue with, and keeps the order of the others.
    virtual void filter(std::vector<TokenId>& tokens) = 0;
    // All tokens that the text may continue with, in no particular order. Much slower than the other two.
    virtual std::vector<TokenId> allowed() = 0;
    // `token`, which is allowed, becomes part of the text.
    virtual void accept(TokenId token) = 0;
    // From `deadline` on the calls above throw ConstraintTimeout; nullptr: never. After a timeout, allows(), filter()
    // and allowed() can be called again, but a constraint whose accept() timed out is unusable. `deadline` must outlive
    // the constraint or be replaced. Constraints whose calls always end soon may ignore it.
    virtual void set_deadline(const Deadline* /*deadline*/) {}
    // About how many bytes it takes; 0: few.
    virtual size_t size_bytes() const { return 0; }
};

}  // namespace chasqui
