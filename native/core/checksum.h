// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chasqui {

// XXH64, which tells damaged data from undamaged as fast as memory is read. It is no protection against someone who
// makes data up.
uint64_t checksum(const void* data, size_t n_bytes, uint64_t seed = 0);

}  // namespace chasqui
