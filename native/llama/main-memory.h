// Thread: any.
#pragma once

#include <cstddef>

namespace chasqui {

// Size of main memory, in bytes; 0: unknown.
size_t main_memory_bytes();

}  // namespace chasqui
