#include "image-file.h"

#include "image-bytes.h"
#include "image-orientation.h"

#include <stb/stb_image.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

constexpr uint64_t kMaxPixels = uint64_t{64} << 20;
// For narrower images, preprocessing would round the shorter side to 0, and mtmd would abort.
constexpr uint64_t kMaxAspectRatio = 100;
// Decoding a progressive JPEG visits all pixels once per scan, and a tiny file can have any number of scans.
constexpr uint64_t kMaxScans      = 100;
constexpr uint64_t kMaxScanPixels = uint64_t{1} << 30;
// One byte of a deflate stream yields at most this many bytes.
constexpr uint64_t kDeflateRatio = 1032;
// A PNG that cannot inflate to more than this is not checked.
constexpr uint64_t kMaxUncheckedBytes = uint64_t{64} << 20;

bool is_known(const ImageBytes& file) {
    return file.starts_with(kPng) || file.starts_with(kJpeg) || file.starts_with(kGif) || file.starts_with(kBmp);
}

// stb fills the pixels that a truncated JPEG lacks with grey. It also takes a CMYK image without Adobe's marker, which
// tells how the colours are stored, for YCbCr with a fourth channel.
void check_jpeg(const ImageBytes& file, const ImageSize& size) {
    uint64_t   n_scans = 0;  // the decoder visits all pixels so often
    size_t     n_components = 0;
    bool       has_adobe    = false;
    const bool is_whole = visit_jpeg_segments(file, [&](uint8_t marker, size_t from, size_t length) {
        constexpr uint8_t kBaseline = 0xc0, kProgressive = 0xc2;
        if (marker == kJpegScan) ++n_scans;
        if (marker >= kBaseline && marker <= kProgressive && length > 5) n_components = file.at(from + 5);
        if (marker == kJpegAdobe && length >= 12) has_adobe |= file.starts_with("Adobe", from);
    });
    if (n_scans > kMaxScans || n_scans * size.width * size.height > kMaxScanPixels) {
        refuse_image("The JPEG has " + std::to_string(n_scans) + " scans, too many for its size.");
    }
    if (!is_whole) refuse_image("The JPEG is truncated: its end is missing.");
    if (n_components == 4 && !has_adobe) {
        refuse_image("The JPEG is in CMYK without Adobe's marker, so its colours are ambiguous: save it as RGB.");
    }
}

// stb leaves the pixels blank that a truncated GIF lacks. Only the first frame must be whole.
void check_gif(const ImageBytes& file) {
    constexpr uint8_t kExtension = 0x21, kFrame = 0x2c;
    const auto table_bytes = [&](size_t flags) {
        return (file.at(flags) & 0x80) != 0 ? size_t{3} << ((file.at(flags) & 7) + 1) : 0;
    };
    const auto skip_blocks = [&](size_t at) {
        while (file.at(at) != 0) at += size_t{1} + file.at(at);
        return at + 1;
    };
    size_t at = 13 + table_bytes(10);
    while (file.at(at) == kExtension) at = skip_blocks(at + 2);
    if (file.at(at) != kFrame) refuse_image("The GIF has no image.");
    skip_blocks(at + 10 + table_bytes(at + 9) + 1);
}

// stb leaves the pixels black that a truncated BMP lacks.
void check_bmp(const ImageBytes& file, const ImageSize& size) {
    constexpr uint32_t kOs2Header = 12;
    const bool         is_os2     = file.little_endian(14, 4) == kOs2Header;
    const uint64_t     n_bits     = file.little_endian(is_os2 ? 24 : 28, 2);
    const uint64_t     row        = (size.width * n_bits + 31) / 32 * 4;
    const uint64_t     last_row   = (size.width * n_bits + 7) / 8;  // some writers do not pad it
    const uint64_t     end        = file.little_endian(10, 4) + row * (size.height - 1) + last_row;
    if (end > file.size()) refuse_image("The BMP is truncated.");
}

// stb returns no reason for some damage.
[[noreturn]] void refuse_damaged() {
    const char*       reason    = stbi_failure_reason();
    const std::string in_braces = reason == nullptr || *reason == '\0' ? "" : " (" + std::string(reason) + ")";
    refuse_image("The image is damaged" + in_braces + ".");
}

// Composites on white in place.
void flatten(unsigned char* pixels, size_t n_pixels) {
    const unsigned char* from = pixels;
    for (unsigned char* to = pixels; n_pixels > 0; --n_pixels, from += 4) {
        const unsigned alpha = from[3];
        for (size_t i = 0; i < 3; ++i) {
            *to++ = static_cast<unsigned char>((from[i] * alpha + 255 * (255 - alpha) + 127) / 255);
        }
    }
}

// stb inflates a PNG's data regardless of the size in its header, up to 4 GB. So data that could become large is first
// inflated here, into no more memory than the image needs.
void check_inflated_size(const ImageBytes& file, uint64_t n_pixels) {
    constexpr size_t  kBitDepth = 24, kColourType = 25;  // in the header chunk, which comes first
    const uint64_t    n_channels = std::min<uint64_t>(file.at(kColourType), 3) + 1;
    const uint64_t    n_bytes    = (n_channels * file.at(kBitDepth) + 7) / 8;
    std::vector<char> deflated;
    visit_png_chunks(file, [&](std::string_view type, size_t from, size_t length) {
        const auto* data = reinterpret_cast<const char*>(file.data()) + from;
        if (type == "IDAT") deflated.insert(deflated.end(), data, data + length);
    });
    if (deflated.size() * kDeflateRatio <= kMaxUncheckedBytes) return;
    // Interlacing and filter bytes never double the size.
    const uint64_t max_inflated = 2 * n_pixels * n_bytes + 65536;
    if (deflated.size() * kDeflateRatio <= max_inflated) return;
    const uint64_t    max_bytes = std::min<uint64_t>(max_inflated, std::numeric_limits<int>::max());
    std::vector<char> inflated(static_cast<size_t>(max_bytes));
    const int length = stbi_zlib_decode_buffer(inflated.data(), static_cast<int>(inflated.size()), deflated.data(),
                                               static_cast<int>(deflated.size()));
    if (length < 0) refuse_image("The PNG's data is damaged, or larger than the image that its header describes.");
}

ImageSize checked_size(uint64_t width, uint64_t height) {
    const std::string size = std::to_string(width) + " × " + std::to_string(height) + " pixels";
    if (width == 0 || height == 0) refuse_image("The image has no pixels (" + size + ").");
    if (width * height > kMaxPixels) {
        refuse_image("The image is too large: " + size + ", more than " + std::to_string(kMaxPixels) + " in all.");
    }
    if (width > kMaxAspectRatio * height || height > kMaxAspectRatio * width) {
        refuse_image("The image is too narrow: " + size + "; one side may be " + std::to_string(kMaxAspectRatio) +
               " times as long as the other.");
    }
    return {static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
}

int int_size(const ImageSource& source) {
    if (source.bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) refuse_image("The image is too large.");
    return static_cast<int>(source.bytes.size());
}

struct Header {
    ImageSize stored;
    int       orientation;
    bool      has_alpha;

    ImageSize seen() const {
        return swaps_sides(orientation) ? ImageSize{stored.height, stored.width} : stored;
    }
};

Header read_header(const ImageBytes& file, int n_bytes) {
    // stb reports the largest sizes as corrupt, so a PNG's size is checked before.
    if (file.starts_with(kPng)) checked_size(file.big_endian(16, 4), file.big_endian(20, 4));
    int width = 0, height = 0, n_channels = 0;
    if (!is_known(file) || !stbi_info_from_memory(file.data(), n_bytes, &width, &height, &n_channels)) {
        refuse_image("Unsupported or damaged image: PNG, JPEG, GIF and BMP can be read.");
    }
    const ImageSize size =
        checked_size(static_cast<uint64_t>(std::max(width, 0)), static_cast<uint64_t>(std::max(height, 0)));
    if (file.starts_with(kJpeg)) check_jpeg(file, size);
    if (file.starts_with(kGif)) check_gif(file);
    if (file.starts_with(kBmp)) check_bmp(file, size);
    return {size, orientation_of(file), n_channels == 2 || n_channels == 4};
}

}  // namespace

ImageSize inspect_image(const ImageSource& source) {
    if (source.width > 0) {
        const ImageSize size = checked_size(source.width, source.height);
        if (source.bytes.size() != uint64_t{3} * size.width * size.height) {
            refuse_image("Wrong number of bytes: every pixel needs three.");
        }
        return size;
    }
    return read_header(ImageBytes(source.bytes), int_size(source)).seen();
}

Pixels decode_image(const ImageSource& source) {
    if (source.width > 0) {
        const ImageSize size = inspect_image(source);
        auto*           copy = static_cast<unsigned char*>(std::malloc(source.bytes.size()));
        if (copy == nullptr) throw std::bad_alloc();
        std::copy(source.bytes.begin(), source.bytes.end(), copy);
        return {size, {copy, std::free}};
    }
    const ImageBytes file(source.bytes);
    const Header     header   = read_header(file, int_size(source));
    const ImageSize  size     = header.stored;
    const uint64_t   n_pixels = uint64_t{size.width} * size.height;
    if (file.starts_with(kPng)) check_inflated_size(file, n_pixels);
    int    width = 0, height = 0, n_channels = 0;
    Pixels pixels{size,
                  {stbi_load_from_memory(file.data(), int_size(source), &width, &height, &n_channels,
                                         header.has_alpha ? 4 : 3),
                   stbi_image_free}};
    if (!pixels.rgb) refuse_damaged();
    if (static_cast<uint32_t>(width) != size.width || static_cast<uint32_t>(height) != size.height) {
        refuse_image("The image differs from the size in its header.");
    }
    if (header.has_alpha) flatten(pixels.rgb.get(), static_cast<size_t>(n_pixels));
    return oriented(std::move(pixels), header.orientation);
}

}  // namespace chasqui
