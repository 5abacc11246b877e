// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace chasqui {

// SentencePiece's precompiled map of characters: a double array (XCDA), and null-terminated replacements.
struct CharacterMap {
    const uint32_t* nodes;
    size_t          n_nodes;
    const char*     replacements;
    size_t          n_replacement_bytes;
};

struct Normalized {
    const char* text;
    size_t      n_bytes;
    size_t      n_consumed;  // of the input
};

// Normalizes what begins at `offset` as the `tokenizers` library does: a cluster of a character and its marks if it has
// fewer than six bytes, otherwise one character. The first entry that matches its beginning replaces all of it.
Normalized normalize_next(const std::string& input, size_t offset, const CharacterMap& map);

}  // namespace chasqui
