// Thread: any; nothing changes once it is built.
#pragma once

#include "job.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// An image as the request brought it: the bytes of a file, or pixels of three bytes each.
struct ImageSource {
    std::vector<uint8_t> bytes;
    uint32_t             width = 0, height = 0;  // in pixels; 0: the bytes are a file
};

// What the encoder makes of an image: for each of its chunks, one row of numbers per token.
using ImageEmbeddings = std::vector<std::vector<float>>;

// The SHA-256 digest of an image's source, in hexadecimal.
using ImageDigest = std::string;

struct PromptImage {
    ImageDigest                        digest;
    std::shared_ptr<const ImageSource> source;
};

// A run of prompt tokens that stands for (a part of) an image. Their ids are negative and derived from the image's
// digest, so that the prefix cache finds equal images equal and different ones different. Only the prefix cache may use
// them.
struct ImageChunk {
    size_t begin = 0, n_tokens = 0;  // among the prompt's tokens
    size_t image = 0, part = 0;      // which of the prompt's images, and which part of its embeddings
    // For attention. With two-dimensional positions (M-RoPE) a chunk takes fewer positions than tokens.
    int32_t              first_position = 0, n_positions = 0;
    std::vector<int32_t> positions;  // of all tokens by section (t, y, x, z); empty without M-RoPE

    size_t end() const { return begin + n_tokens; }
    bool   holds(size_t token) const { return token >= begin && token < end(); }
};

// The id of the `at`-th token of part `part` of an image.
TokenId image_token(const ImageDigest& digest, size_t part, size_t at);

// The images of one prompt, and where they are.
class Media {
public:
    std::vector<PromptImage> images;
    std::vector<ImageChunk>  chunks;                  // in order; none overlap
    bool                     is_indivisible = false;  // attention is not causal: a chunk is computed in one piece

    const ImageChunk* chunk_at(size_t token) const;
    // Where the run of one kind ends that `token` is in: at the end of its chunk, or at the beginning of the next one.
    size_t run_end(size_t token, size_t n_tokens) const;
    // A token's position for attention; with `token` equal to the number of tokens, that of the next one.
    int32_t position(size_t token) const;
    // The longest prefix of at most `n_tokens` tokens that a sequence can continue from.
    size_t resumable(size_t n_tokens) const;
    // Whether any token of image `image` comes at or after `token`.
    bool is_needed(size_t image, size_t token) const;
    // Where the last image ends.
    size_t end() const { return chunks.empty() ? 0 : chunks.back().end(); }
};

}  // namespace chasqui
