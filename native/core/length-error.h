// Thread: any.
#pragma once

#include "error-code.h"

#include <cstddef>
#include <string>

namespace chasqui {

// A prompt does not fit into the context. Has both numbers of tokens, so the client can shorten it.
class LengthError : public Error {
public:
    // `n_prompt` is a lower bound: a text that cannot fit is not tokenized to its end.
    LengthError(const std::string& message, size_t n_prompt, size_t n_context)
        : Error(ErrorCode::context_length_exceeded, message), n_prompt_(n_prompt), n_context_(n_context) {}
    size_t n_prompt() const { return n_prompt_; }
    size_t n_context() const { return n_context_; }

private:
    size_t n_prompt_, n_context_;
};

}  // namespace chasqui
