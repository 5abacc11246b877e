// Thread: built on any, unchanging afterwards; so any.
#pragma once

#include "job.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// A picture as it came: a file's bytes, or pixels of three bytes each.
struct ImageSource {
    std::vector<uint8_t> bytes;
    uint32_t             width = 0, height = 0;  // of pixels; 0: the bytes are a file
};

// What a picture became: for each of its chunks, one row of numbers per token.
using ImageEmbeddings = std::vector<std::vector<float>>;

// The SHA-256 digest of a picture's source, in hexadecimal.
using ImageDigest = std::string;

struct PromptImage {
    ImageDigest                        digest;
    std::shared_ptr<const ImageSource> source;
};

// A stretch of the prompt that stands for (a part of) a picture. Its tokens have negative ids, which nobody but the
// prefix cache may read: they are taken from the picture's digest, so that equal pictures, and only they, are equal.
struct ImageChunk {
    size_t begin = 0, n_tokens = 0;  // among the prompt's tokens
    size_t image = 0, part = 0;      // which of the prompt's pictures, and which part of its embeddings
    // Where attention sees it. With two-dimensional positions (M-RoPE) a chunk takes fewer positions than tokens.
    int32_t              first_position = 0, n_positions = 0;
    std::vector<int32_t> positions;  // M-RoPE: of all tokens, by section (t, y, x, z); else empty: one after another

    size_t end() const { return begin + n_tokens; }
    bool   holds(size_t token) const { return token >= begin && token < end(); }
};

// The token that stands for the `at`-th token of part `part` of a picture.
TokenId image_token(const ImageDigest& digest, size_t part, size_t at);

// The pictures of one prompt, and where they are.
class Media {
public:
    std::vector<PromptImage> images;
    std::vector<ImageChunk>  chunks;                  // in order; none overlap
    bool                     is_indivisible = false;  // attention is not causal: a chunk is computed in one piece

    const ImageChunk* chunk_at(size_t token) const;
    // How far the tokens from `token` on are of one kind: to the end of its chunk, or to the next one's beginning.
    size_t run_end(size_t token, size_t n_tokens) const;
    // The position of a token, or the next one's if there are `token` tokens.
    int32_t position(size_t token) const;
    // The most of the first `n_tokens` tokens that computing can go on from.
    size_t resumable(size_t n_tokens) const;
    // Whether anything of picture `image` comes at or after `token`.
    bool is_needed(size_t image, size_t token) const;
    // Where the last picture ends.
    size_t end() const { return chunks.empty() ? 0 : chunks.back().end(); }
};

}  // namespace chasqui
