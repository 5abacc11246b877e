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

// The size that the image's header claims. Throws `invalid_image` if it is no PNG, JPEG, GIF or BMP, or if decoding
// would take too much memory or time.
ImageSize inspect_image(const ImageSource& source);

// The image, or the first frame of a GIF. Throws `invalid_image`.
Pixels decode_image(const ImageSource& source);

}  // namespace chasqui
