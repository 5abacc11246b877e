// Thread: any.
#pragma once

#include <stdexcept>
#include <string>

namespace chasqui {

// The failures native code reports. The names are the codes of the catalogue in `ts/errors.ts`.
enum class ErrorCode {
    context_length_exceeded,
    decode_failed,
    engine_closed,
    invalid_job,
    invalid_options,
    model_file_invalid,
    model_file_missing,
    model_load_failed,
    out_of_memory,
    template_failed,
};

inline const char* to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::context_length_exceeded: return "context_length_exceeded";
        case ErrorCode::decode_failed: return "decode_failed";
        case ErrorCode::engine_closed: return "engine_closed";
        case ErrorCode::invalid_job: return "invalid_job";
        case ErrorCode::invalid_options: return "invalid_options";
        case ErrorCode::model_file_invalid: return "model_file_invalid";
        case ErrorCode::model_file_missing: return "model_file_missing";
        case ErrorCode::model_load_failed: return "model_load_failed";
        case ErrorCode::out_of_memory: return "out_of_memory";
        case ErrorCode::template_failed: return "template_failed";
    }
    return "decode_failed";
}

class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ErrorCode code() const { return code_; }

private:
    ErrorCode code_;
};

}  // namespace chasqui
