// Thread: any.
#pragma once

#include "error-code.h"

#include <cstddef>
#include <string>

namespace chasqui {

// A prompt that does not fit into the context, with both numbers of tokens for the client, which has to make room.
class LengthError : public Error {
public:
    // `n_prompt` is at most what the prompt has: a text that cannot fit in any case is not counted to its end.
    LengthError(const std::string& message, size_t n_prompt, size_t n_context)
        : Error(ErrorCode::context_length_exceeded, message), n_prompt_(n_prompt), n_context_(n_context) {}
    size_t n_prompt() const { return n_prompt_; }
    size_t n_context() const { return n_context_; }

private:
    size_t n_prompt_, n_context_;
};

}  // namespace chasqui
