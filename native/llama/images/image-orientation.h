// Thread: any.
#pragma once

#include "image-bytes.h"
#include "image-file.h"

namespace chasqui {

// How the stored pixels of an image must be mirrored and rotated, by its EXIF data: 1 to 8, where 1 means not at all.
int orientation_of(const ImageBytes& file);

// Whether width and height change places.
inline bool swaps_sides(int orientation) { return orientation >= 5; }

// Mirrors and rotates an image for display.
Pixels oriented(Pixels stored, int orientation);

}  // namespace chasqui
