#include "log.h"

#include <ggml.h>
#include <llama.h>
#include <log.h>
#include <mtmd.h>

#include <atomic>
#include <cstdio>
#include <utility>

// Declared in llama.cpp's ggml/src/ggml-impl.h, which is not a public header.
extern "C" void ggml_print_backtrace(void);

namespace chasqui {

namespace {

constexpr size_t kMaxErrorBytes = 1000;  // bytes of error text

std::atomic<bool> g_verbose{false};
// llama.cpp logs the reason of a failure on the thread of the failing call, so each thread has a buffer.
thread_local std::string t_errors;
thread_local bool        t_throws_assertions = false;

void on_log(ggml_log_level level, const char* text, void*) {
    if (g_verbose.load(std::memory_order_relaxed)) std::fputs(text, stderr);
    if (level != GGML_LOG_LEVEL_ERROR) return;
    std::string line(text);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.empty() || t_errors.size() > kMaxErrorBytes) return;
    if (!t_errors.empty()) t_errors += "; ";
    t_errors += line;
}

// llama.cpp ends the process when this returns.
void on_abort(const char* message) {
    if (t_throws_assertions) {
        const std::string said = take_last_errors();
        if (failure_code(said) == ErrorCode::out_of_memory) throw Error(ErrorCode::out_of_memory, "There is not enough memory: " + shortened(said));
        throw Error(ErrorCode::model_load_failed, "The model's file is damaged, or llama.cpp does not support it: " +
                                                      shortened(message));
    }
    ggml_print_backtrace();
    // Last, because the supervisor reports the last line. Backends log the cause of an abort as an error.
    const std::string said = take_last_errors();
    std::fprintf(stderr, "llama.cpp aborted: %s%s%s\n", message, said.empty() ? "" : ": ", shortened(said).c_str());
}

}  // namespace

void capture_log(bool verbose) {
    g_verbose = verbose;
    llama_log_set(on_log, nullptr);
    ggml_set_abort_callback(on_abort);
    mtmd_log_set(on_log, nullptr);
    // llama-common has its own logger with a thread that writes to stderr.
    common_log_pause(common_log_main());
}

std::string take_last_errors() { return std::exchange(t_errors, {}); }

ErrorCode failure_code(const std::string& errors, ErrorCode otherwise) {
    // Messages of ggml, its backends, libstdc++ and llama.cpp.
    for (const char* sign : {"insufficient memory", "bad_alloc", "failed to allocate", "unable to allocate", "out of memory",
                             "Cannot allocate memory"})
        if (errors.find(sign) != std::string::npos) return ErrorCode::out_of_memory;
    return otherwise;
}

ThrownAssertions::ThrownAssertions() : outer_(std::exchange(t_throws_assertions, true)) {}
ThrownAssertions::~ThrownAssertions() { t_throws_assertions = outer_; }

std::string shortened(const std::string& message) {
    constexpr size_t kMaxBytes = 300;
    if (message.size() <= kMaxBytes) return message;
    size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80) --end;  // within a character
    return message.substr(0, end) + " ...";
}

}  // namespace chasqui
