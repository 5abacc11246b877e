#include "checksum.h"

#include <cstring>

namespace chasqui {

namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

template <typename Word>
uint64_t read(const unsigned char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

uint64_t round(uint64_t lane, uint64_t word) { return rotate(lane + word * kPrime2, 31) * kPrime1; }

uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ round(0, lane)) * kPrime1 + kPrime4; }

// The bytes after the last block of 32.
uint64_t finish(uint64_t hash, const unsigned char* at, const unsigned char* end) {
    for (; end - at >= 8; at += 8) hash = rotate(hash ^ round(0, read<uint64_t>(at)), 27) * kPrime1 + kPrime4;
    if (end - at >= 4) {
        hash = rotate(hash ^ read<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
        at += 4;
    }
    for (; at < end; ++at) hash = rotate(hash ^ *at * kPrime5, 11) * kPrime1;
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
}

}  // namespace

uint64_t checksum(const void* data, size_t n_bytes, uint64_t seed) {
    const auto* at  = static_cast<const unsigned char*>(data);
    const auto* end = at + n_bytes;
    if (n_bytes < 32) return finish(seed + kPrime5 + n_bytes, at, end);
    uint64_t lanes[4] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; end - at >= 32; at += 32) {
        for (int lane = 0; lane < 4; ++lane) lanes[lane] = round(lanes[lane], read<uint64_t>(at + 8 * lane));
    }
    uint64_t hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = merge(hash, lane);
    return finish(hash + n_bytes, at, end);
}

}  // namespace chasqui
