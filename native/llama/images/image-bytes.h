// Thread: any.
#pragma once

#include "../../core/error-code.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

[[noreturn]] inline void refuse_image(const std::string& message) { throw Error(ErrorCode::invalid_image, message); }

// A reader of image files that throws `invalid_image` instead of reading past the end.
class ImageBytes {
public:
    explicit ImageBytes(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

    size_t  size() const { return bytes_.size(); }
    uint8_t at(size_t index) const {
        if (index >= bytes_.size()) refuse_image("The file ends too early.");
        return bytes_[index];
    }
    uint32_t big_endian(size_t from, size_t n_bytes) const {
        uint32_t value = 0;
        for (size_t i = 0; i < n_bytes; ++i) value = value << 8 | at(from + i);
        return value;
    }
    uint32_t little_endian(size_t from, size_t n_bytes) const {
        uint32_t value = 0;
        for (size_t i = n_bytes; i > 0; --i) value = value << 8 | at(from + i - 1);
        return value;
    }
    bool starts_with(std::string_view magic, size_t from = 0) const {
        return from + magic.size() <= size() && std::memcmp(bytes_.data() + from, magic.data(), magic.size()) == 0;
    }
    const uint8_t* data() const { return bytes_.data(); }

private:
    const std::vector<uint8_t>& bytes_;
};

constexpr std::string_view kPng("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpeg("\xff\xd8\xff", 3);
constexpr std::string_view kGif("GIF8", 4);
constexpr std::string_view kBmp("BM", 2);

constexpr uint8_t kJpegEnd = 0xd9, kJpegScan = 0xda, kJpegExif = 0xe1, kJpegAdobe = 0xee;

// Calls `visit(marker, from, length)` for each segment of a JPEG with the range of its content. Returns whether the file
// has an end marker.
template <typename Visit>
bool visit_jpeg_segments(const ImageBytes& file, const Visit& visit) {
    constexpr uint8_t kStuffed = 0x00, kFirstRestart = 0xd0, kLastRestart = 0xd7;
    for (size_t at = 2; at + 2 <= file.size();) {
        const uint8_t marker = file.at(at + 1);
        if (file.at(at) != 0xff || marker == kStuffed || (marker >= kFirstRestart && marker <= kLastRestart)) {
            ++at;  // within a scan
        } else if (marker == 0xff) {
            ++at;  // padding
        } else if (marker == kJpegEnd) {
            return true;
        } else {
            if (at + 4 > file.size()) return false;
            const size_t length = file.big_endian(at + 2, 2);
            if (length >= 2 && at + 2 + length <= file.size()) visit(marker, at + 4, length - 2);
            at += 2 + length;
        }
    }
    return false;
}

// Calls `visit(type, from, length)` for each chunk of a PNG with the range of its content.
template <typename Visit>
void visit_png_chunks(const ImageBytes& file, const Visit& visit) {
    for (size_t at = kPng.size(); at + 12 <= file.size();) {
        const size_t length = file.big_endian(at, 4);
        if (length > file.size() - at - 12) return;
        visit(std::string_view(reinterpret_cast<const char*>(file.data()) + at + 4, 4), at + 8, length);
        at += 12 + length;
    }
}

}  // namespace chasqui
