#include "media.h"

#include <algorithm>
#include <limits>

namespace chasqui {

namespace {

constexpr size_t   kDigitsPerWord = 8;           // hexadecimal
constexpr size_t   kWords         = 8;           // of 32 bits in a digest
constexpr uint32_t kSpread        = 0x9e3779b9;  // distinguishes the parts of an image

uint32_t word_of(const ImageDigest& digest, size_t index) {
    const std::string digits = digest.substr(index * kDigitsPerWord, kDigitsPerWord);
    return static_cast<uint32_t>(std::stoul(digits, nullptr, 16));
}

}  // namespace

// A token stores 31 bits of the digest, so eight tokens identify an image.
TokenId image_token(const ImageDigest& digest, size_t part, size_t at) {
    const uint32_t bits = word_of(digest, at % kWords) + kSpread * static_cast<uint32_t>(part);
    return -1 - static_cast<TokenId>(bits & static_cast<uint32_t>(std::numeric_limits<TokenId>::max()));
}

const ImageChunk* Media::chunk_at(size_t token) const {
    const auto found = std::find_if(chunks.begin(), chunks.end(), [=](const auto& each) { return each.holds(token); });
    return found == chunks.end() ? nullptr : &*found;
}

size_t Media::run_end(size_t token, size_t n_tokens) const {
    for (const ImageChunk& chunk : chunks) {
        if (token < chunk.begin) return chunk.begin;
        if (token < chunk.end()) return chunk.end();
    }
    return n_tokens;
}

int32_t Media::position(size_t token) const {
    int32_t saved = 0;  // positions that earlier chunks did not use
    for (const ImageChunk& chunk : chunks) {
        if (token < chunk.begin) break;
        if (token < chunk.end()) {
            const size_t at = token - chunk.begin;
            return chunk.positions.empty() ? chunk.first_position + static_cast<int32_t>(at) : chunk.positions[at];
        }
        saved += static_cast<int32_t>(chunk.n_tokens) - chunk.n_positions;
    }
    return static_cast<int32_t>(token) - saved;
}

// llama.cpp removes cells by position, and all cells of a chunk with two-dimensional positions have the same one.
size_t Media::resumable(size_t n_tokens) const {
    if (n_tokens == 0) return 0;
    const ImageChunk* chunk = chunk_at(n_tokens - 1);
    if (chunk == nullptr || n_tokens == chunk->end()) return n_tokens;
    return chunk->is_indivisible || !chunk->positions.empty() ? chunk->begin : n_tokens;
}

bool Media::is_needed(size_t image, size_t token) const {
    return std::any_of(chunks.begin(), chunks.end(),
                       [=](const ImageChunk& each) { return each.image == image && each.end() > token; });
}

}  // namespace chasqui
