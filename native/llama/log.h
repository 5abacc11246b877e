// Thread: any. llama.cpp's log callback is one per process, so this is too.
#pragma once

#include <string>

namespace chasqui {

// Takes over llama.cpp's log. With `verbose` every line goes to standard error, else none; either way the latest
// error lines are kept, because llama.cpp says why something failed only there.
void capture_log(bool verbose);

// The error lines that this thread caused since it last asked, joined by "; ".
std::string take_last_errors();

// The beginning of a message: llama.cpp likes to quote all that it was given, and that may be megabytes.
std::string in_short(const std::string& message);

}  // namespace chasqui
