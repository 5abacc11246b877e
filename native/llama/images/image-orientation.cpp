#include "image-orientation.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace chasqui {

namespace {

constexpr int kUpright = 1;

// Reads the orientation from TIFF data in [from, from + length). Returns 1 if there is none or the data is damaged.
int read_tiff(const ImageBytes& file, size_t from, size_t length) {
    constexpr uint32_t kOrientation = 0x0112, kShort = 3;
    constexpr size_t   kHeader = 8, kEntry = 12;
    if (length < kHeader) return kUpright;
    const bool is_little = file.starts_with("II", from);
    if (!is_little && !file.starts_with("MM", from)) return kUpright;
    const auto read = [&](size_t at, size_t n_bytes) {
        return is_little ? file.little_endian(from + at, n_bytes) : file.big_endian(from + at, n_bytes);
    };
    const size_t directory = read(4, 4);
    if (directory > length - 2) return kUpright;
    const size_t n_entries = read(directory, 2);
    for (size_t i = 0; i < n_entries; ++i) {
        const size_t entry = directory + 2 + i * kEntry;
        if (entry + kEntry > length) break;
        if (read(entry, 2) != kOrientation || read(entry + 2, 2) != kShort) continue;
        const uint32_t value = read(entry + 8, 2);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : kUpright;
    }
    return kUpright;
}

// WebP files, and PNGs made of them, may have JPEG's header before the TIFF data.
int read_exif(const ImageBytes& file, size_t from, size_t length) {
    constexpr std::string_view kHeader("Exif\0\0", 6);
    const size_t skipped = length >= kHeader.size() && file.starts_with(kHeader, from) ? kHeader.size() : 0;
    return read_tiff(file, from + skipped, length - skipped);
}

}  // namespace

int orientation_of(const ImageBytes& file) {
    int  orientation = kUpright;
    bool is_found    = false;
    if (file.starts_with(kJpeg)) {
        visit_jpeg_segments(file, [&](uint8_t marker, size_t from, size_t length) {
            if (is_found || marker != kJpegExif || length < 6 || !file.starts_with("Exif", from)) return;
            is_found    = true;
            orientation = read_exif(file, from, length);
        });
    } else if (file.starts_with(kPng)) {
        visit_png_chunks(file, [&](std::string_view type, size_t from, size_t length) {
            if (is_found || type != "eXIf") return;
            is_found    = true;
            orientation = read_exif(file, from, length);
        });
    }
    return orientation;
}

Pixels oriented(Pixels stored, int orientation) {
    if (orientation == kUpright) return stored;
    const size_t width = stored.size.width, height = stored.size.height;
    const bool   swaps      = swaps_sides(orientation);
    const bool   flips_cols = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool   flips_rows = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    auto*        rgb        = static_cast<unsigned char*>(std::malloc(3 * width * height));
    if (rgb == nullptr) throw std::bad_alloc();
    Pixels seen{stored.size, {rgb, std::free}};
    if (swaps) std::swap(seen.size.width, seen.size.height);
    for (size_t y = 0; y < seen.size.height; ++y) {
        for (size_t x = 0; x < seen.size.width; ++x, rgb += 3) {
            const size_t col = swaps ? y : x, row = swaps ? x : y;
            const size_t from = (flips_rows ? height - 1 - row : row) * width + (flips_cols ? width - 1 - col : col);
            std::memcpy(rgb, stored.rgb.get() + 3 * from, 3);
        }
    }
    return seen;
}

}  // namespace chasqui
