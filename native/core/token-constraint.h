// Thread: one at a time; constraints of different sequences are independent.
#pragma once

#include "deadline.h"
#include "job.h"

#include <exception>
#include <vector>

namespace chasqui {

// A constraint's deadline was over before it had its answer.
class ConstraintTimeout : public std::exception {
public:
    const char* what() const noexcept override { return "the grammar takes too long"; }
};

// What a text may consist of: a grammar, say. It follows the text token by token and knows what may come next.
class TokenConstraint {
public:
    virtual ~TokenConstraint() = default;

    // Whether the text may go on with `token`.
    virtual bool allows(TokenId token) = 0;
    // Leaves those tokens in the list that the text may go on with, in their order.
    virtual void filter(std::vector<TokenId>& tokens) = 0;
    // All tokens that the text may go on with, in no particular order. Much slower than the other two.
    virtual std::vector<TokenId> allowed() = 0;
    // `token`, which is allowed, is part of the text from now on.
    virtual void accept(TokenId token) = 0;
    // From when on the calls above throw ConstraintTimeout, nullptr: never. Those that ask leave the constraint as it was
    // then and may be repeated; after an accept() that was broken off it is of no more use. `deadline` must outlive it or
    // be taken back. Constraints whose calls always end soon need not look at it.
    virtual void set_deadline(const Deadline* /*deadline*/) {}
};

}  // namespace chasqui
