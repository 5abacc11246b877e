// Thread: any.
#pragma once

#include <cstddef>

namespace chasqui {

// Size of main memory, in bytes; 0: unknown.
size_t main_memory_bytes();

// Lowers the priority of the calling thread and, on Linux, of the threads that it starts. `niceness`: as for
// setpriority, 0 to 19; macOS has a single level.
void lower_thread_priority(int niceness);

// Gives threads that start later the stack of glibc. musl's has 128 KiB, and llama.cpp recurses on schemas and templates.
void enlarge_thread_stacks();

// Makes llama.cpp's work on the calling thread call PreparePool::check(), which may throw to end it.
void make_interruptible();

}  // namespace chasqui
