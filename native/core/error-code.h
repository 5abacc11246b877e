// Thread: any.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace chasqui {

// The errors of native code. Their names are codes in `ts/errors.ts`.
enum class ErrorCode {
    audio_not_supported,
    audio_too_large,
    context_length_exceeded,
    decode_failed,
    engine_closed,
    image_not_supported,
    invalid_audio,
    invalid_grammar,
    invalid_image,
    invalid_job,
    invalid_logits,
    invalid_options,
    model_file_invalid,
    model_file_missing,
    model_load_failed,
    model_not_capable,
    out_of_memory,
    prepare_timeout,
    queue_full,
    template_failed,
    unsupported_parameter,
};

inline const char* to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::audio_not_supported: return "audio_not_supported";
        case ErrorCode::audio_too_large: return "audio_too_large";
        case ErrorCode::context_length_exceeded: return "context_length_exceeded";
        case ErrorCode::decode_failed: return "decode_failed";
        case ErrorCode::engine_closed: return "engine_closed";
        case ErrorCode::image_not_supported: return "image_not_supported";
        case ErrorCode::invalid_audio: return "invalid_audio";
        case ErrorCode::invalid_grammar: return "invalid_grammar";
        case ErrorCode::invalid_image: return "invalid_image";
        case ErrorCode::invalid_job: return "invalid_job";
        case ErrorCode::invalid_logits: return "invalid_logits";
        case ErrorCode::invalid_options: return "invalid_options";
        case ErrorCode::model_file_invalid: return "model_file_invalid";
        case ErrorCode::model_file_missing: return "model_file_missing";
        case ErrorCode::model_load_failed: return "model_load_failed";
        case ErrorCode::model_not_capable: return "model_not_capable";
        case ErrorCode::out_of_memory: return "out_of_memory";
        case ErrorCode::prepare_timeout: return "prepare_timeout";
        case ErrorCode::queue_full: return "queue_full";
        case ErrorCode::template_failed: return "template_failed";
        case ErrorCode::unsupported_parameter: return "unsupported_parameter";
    }
    return "decode_failed";
}

class Error : public std::runtime_error {
public:
    // `image`: index of the job's image that caused the error.
    Error(ErrorCode code, const std::string& message, std::optional<size_t> image = std::nullopt)
        : std::runtime_error(message), code_(code), image_(image) {}
    ErrorCode             code() const { return code_; }
    std::optional<size_t> image() const { return image_; }

private:
    ErrorCode             code_;
    std::optional<size_t> image_;
};

// The code of an Error, `out_of_memory` for std::bad_alloc, and `otherwise` for other exceptions.
inline ErrorCode code_of(const std::exception& error, ErrorCode otherwise) {
    if (const auto* const coded = dynamic_cast<const Error*>(&error)) return coded->code();
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? ErrorCode::out_of_memory : otherwise;
}

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
