// Thread: any. One log per process, because llama.cpp has one log callback per process.
#pragma once

#include "../../core/error-code.h"

#include <string>

namespace chasqui {

// Redirects llama.cpp's log. With `verbose` every line is written to stderr, else none. The latest error lines are
// stored in either case: llama.cpp reports the reason of a failure only there.
void capture_log(bool verbose);

// The error lines of this thread since its last call, joined by "; ".
std::string take_last_errors();

// `out_of_memory` if these error lines say that an allocation failed.
ErrorCode failure_code(const std::string& errors, ErrorCode otherwise = ErrorCode::model_load_failed);

// While it exists, failed assertions of llama.cpp on this thread throw `model_load_failed` instead of ending the process, or
// `out_of_memory`. llama.cpp asserts values of model files, and some allocations.
class ThrownAssertions {
public:
    ThrownAssertions();
    ~ThrownAssertions();
    ThrownAssertions(const ThrownAssertions&)            = delete;
    ThrownAssertions& operator=(const ThrownAssertions&) = delete;

private:
    const bool outer_;  // another one exists on this thread
};

// The beginning of a message. llama.cpp quotes its input in messages, which may be megabytes.
std::string shortened(const std::string& message);

}  // namespace chasqui
