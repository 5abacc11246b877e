// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chasqui {

// XXH64: detects damaged data at the speed of memory reads. It is not a cryptographic hash.
uint64_t checksum(const void* data, size_t n_bytes, uint64_t seed = 0);

}  // namespace chasqui
