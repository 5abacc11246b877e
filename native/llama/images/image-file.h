// Thread: any.
#pragma once

#include "../../core/media.h"

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

// The size of the image after rotation. Throws `invalid_image` unless it is a PNG, JPEG, GIF or BMP that is whole and
// can be decoded with limited memory and time.
ImageSize inspect_image(const ImageSource& source);

// The image, or the first frame of a GIF or animated PNG: on white, and oriented by its EXIF data. Throws `invalid_image`.
Pixels decode_image(const ImageSource& source);

}  // namespace chasqui
