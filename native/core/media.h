// Thread: any; immutable once built.
#pragma once

#include "job.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// An image of a request: the bytes of a file, or RGB pixels. Audio of a request has the same path, as an image of another
// encoder.
struct ImageSource {
    std::vector<uint8_t> bytes;
    uint32_t             width = 0, height = 0;  // in pixels; 0: a file
    bool                 is_audio = false;       // samples of 16 bits at the encoder's rate
};

// Encoder output: for each chunk of the image, one row of numbers per token.
using ImageEmbeddings = std::vector<std::vector<float>>;

// SHA-256 of the image's source and its number of tokens, in hexadecimal. Some projectors add padding that depends on the
// image's position in the prompt.
using ImageDigest = std::string;

struct PromptImage {
    ImageDigest                        digest;
    std::shared_ptr<const ImageSource> source;
    size_t                             n_tokens = 0;  // of all its chunks
};

// Consecutive prompt tokens that represent an image or a part of it. Their ids are negative and derived from the
// image's digest, so equal images have equal ids. Only the prefix cache uses these ids.
struct ImageChunk {
    size_t begin = 0, n_tokens = 0;  // among the prompt's tokens
    size_t image = 0, part = 0;      // index of the prompt's image, and of the part of its embeddings
    // For attention. With two-dimensional positions (M-RoPE) a chunk takes fewer positions than tokens.
    int32_t              first_position = 0, n_positions = 0;
    std::vector<int32_t> positions;  // of all tokens by section (t, y, x, z); empty without M-RoPE
    bool                 is_indivisible = false;  // attention is not causal: it must be computed at once

    size_t end() const { return begin + n_tokens; }
    bool   holds(size_t token) const { return token >= begin && token < end(); }
};

// The id of token number `at` of part `part` of an image.
TokenId image_token(const ImageDigest& digest, size_t part, size_t at);

// The images of one prompt and their positions.
class Media {
public:
    std::vector<PromptImage> images;
    std::vector<ImageChunk>  chunks;  // ascending, without overlaps

    const ImageChunk* chunk_at(size_t token) const;
    // The end of the chunk that contains `token`, or else the beginning of the next chunk.
    size_t run_end(size_t token, size_t n_tokens) const;
    // A token's position for attention; the number of tokens gives the position of the next token.
    int32_t position(size_t token) const;
    // The longest usable prefix of at most `n_tokens` tokens: a sequence cannot continue within some chunks.
    size_t resumable(size_t n_tokens) const;
    // Whether the image has tokens at or after `token`.
    bool is_needed(size_t image, size_t token) const;
    // The end of the last image.
    size_t end() const { return chunks.empty() ? 0 : chunks.back().end(); }
};

}  // namespace chasqui
