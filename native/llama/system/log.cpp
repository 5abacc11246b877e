#include "log.h"

#include <ggml.h>
#include <llama.h>
#include <log.h>
#include <mtmd.h>

#include <atomic>
#include <cstdio>
#include <utility>

namespace chasqui {

namespace {

constexpr size_t kMaxErrorBytes = 1000;  // bytes of error text

std::atomic<bool> g_verbose{false};
// llama.cpp logs the reason of a failure on the thread of the failing call, so each thread has a buffer.
thread_local std::string t_errors;

void on_log(ggml_log_level level, const char* text, void*) {
    if (g_verbose.load(std::memory_order_relaxed)) std::fputs(text, stderr);
    if (level != GGML_LOG_LEVEL_ERROR) return;
    std::string line(text);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.empty() || t_errors.size() > kMaxErrorBytes) return;
    if (!t_errors.empty()) t_errors += "; ";
    t_errors += line;
}

}  // namespace

void capture_log(bool verbose) {
    g_verbose = verbose;
    llama_log_set(on_log, nullptr);
    mtmd_log_set(on_log, nullptr);
    // llama-common has its own logger with a thread that writes to stderr.
    common_log_pause(common_log_main());
}

std::string take_last_errors() { return std::exchange(t_errors, {}); }

std::string shortened(const std::string& message) {
    constexpr size_t kMaxBytes = 300;
    if (message.size() <= kMaxBytes) return message;
    size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80) --end;  // within a character
    return message.substr(0, end) + " ...";
}

}  // namespace chasqui
