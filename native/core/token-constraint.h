// Thread: one at a time; constraints of different sequences are independent.
#pragma once

#include "job.h"

#include <vector>

namespace chasqui {

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
};

}  // namespace chasqui
