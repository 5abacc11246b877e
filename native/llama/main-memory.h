// Thread: any.
#pragma once

#include <cstddef>

namespace chasqui {

// How much main memory this machine has, in bytes; 0: not known.
size_t main_memory_bytes();

}  // namespace chasqui
