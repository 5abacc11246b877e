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
    std::unique_ptr<unsigned char, void (*)(void*)> rgb;  // 3 bytes per pixel, row by row
};

// The size in the image's header. Throws `invalid_image` unless it is a PNG, JPEG, GIF or BMP that can be decoded with
// limited memory and time.
ImageSize inspect_image(const ImageSource& source);

// The image, or the first frame of a GIF. Throws `invalid_image`.
Pixels decode_image(const ImageSource& source);

}  // namespace chasqui
