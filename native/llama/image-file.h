// Thread: any.
#pragma once

#include "../core/media.h"

#include <cstdint>
#include <memory>

namespace chasqui {

struct ImageSize {
    uint32_t width, height;
};

struct Pixels {
    ImageSize                                       size;
    std::unique_ptr<unsigned char, void (*)(void*)> rgb;  // three bytes each, row by row
};

// The size that the picture claims, read without decoding it. Throws `invalid_image` for what is no PNG, JPEG, GIF or
// BMP, and for what would take too much memory or time to decode.
ImageSize inspect_image(const ImageSource& source);

// The picture, of a GIF the first frame. Throws `invalid_image`.
Pixels decode_image(const ImageSource& source);

}  // namespace chasqui
