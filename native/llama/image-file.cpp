#include "image-file.h"

#include "../core/error-code.h"

#include <stb/stb_image.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
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

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_image, message); }

// A reader that throws instead of reading past the end.
class Bytes {
public:
    explicit Bytes(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

    size_t  size() const { return bytes_.size(); }
    uint8_t at(size_t index) const {
        if (index >= bytes_.size()) refuse("The file ends too early.");
        return bytes_[index];
    }
    uint32_t big_endian(size_t from, size_t n_bytes) const {
        uint32_t value = 0;
        for (size_t i = 0; i < n_bytes; ++i) value = value << 8 | at(from + i);
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

bool is_known(const Bytes& file) {
    return file.starts_with(kPng) || file.starts_with(kJpeg) || file.starts_with("GIF87a") ||
           file.starts_with("GIF89a") || file.starts_with("BM");
}

// How often the decoder visits all pixels.
uint64_t count_scans(const Bytes& file) {
    constexpr uint8_t kStuffed = 0x00, kFirstRestart = 0xd0, kLastRestart = 0xd7, kEnd = 0xd9, kScan = 0xda;
    uint64_t          n_scans = 0;
    size_t            at      = 2;
    while (at + 4 <= file.size()) {
        const uint8_t marker = file.at(at + 1);
        if (file.at(at) != 0xff || marker == kStuffed || (marker >= kFirstRestart && marker <= kLastRestart)) {
            ++at;  // within a scan
        } else if (marker == 0xff) {
            ++at;  // padding
        } else if (marker == kEnd) {
            break;
        } else {
            n_scans += marker == kScan ? 1 : 0;
            at += 2 + file.big_endian(at + 2, 2);
        }
    }
    return n_scans;
}

// stb inflates a PNG's data regardless of the size in its header, up to 4 GB. So data that could become large is first
// inflated here, into no more memory than the image needs.
void check_inflated_size(const Bytes& file, uint64_t n_pixels) {
    constexpr size_t  kBitDepth = 24, kColourType = 25;  // in the header chunk, which comes first
    const uint64_t    n_channels = std::min<uint64_t>(file.at(kColourType), 3) + 1;
    const uint64_t    n_bytes    = (n_channels * file.at(kBitDepth) + 7) / 8;
    std::vector<char> deflated;
    for (size_t at = kPng.size(); at + 12 <= file.size();) {
        const uint64_t length = file.big_endian(at, 4);
        if (length > file.size() - at - 12) break;
        const auto* data = reinterpret_cast<const char*>(file.data()) + at + 8;
        if (file.starts_with("IDAT", at + 4)) deflated.insert(deflated.end(), data, data + length);
        at += 12 + static_cast<size_t>(length);
    }
    if (deflated.size() * kDeflateRatio <= kMaxUncheckedBytes) return;
    // Interlacing and filter bytes never double the size.
    const uint64_t max_inflated = 2 * n_pixels * n_bytes + 65536;
    if (deflated.size() * kDeflateRatio <= max_inflated) return;
    const uint64_t    max_bytes = std::min<uint64_t>(max_inflated, std::numeric_limits<int>::max());
    std::vector<char> inflated(static_cast<size_t>(max_bytes));
    const int length = stbi_zlib_decode_buffer(inflated.data(), static_cast<int>(inflated.size()), deflated.data(),
                                               static_cast<int>(deflated.size()));
    if (length < 0) refuse("The PNG's data is damaged, or larger than the image that its header describes.");
}

ImageSize checked_size(uint64_t width, uint64_t height) {
    const std::string size = std::to_string(width) + " × " + std::to_string(height) + " pixels";
    if (width == 0 || height == 0) refuse("The image has no pixels (" + size + ").");
    if (width * height > kMaxPixels) {
        refuse("The image is too large: " + size + ", more than " + std::to_string(kMaxPixels) + " in all.");
    }
    if (width > kMaxAspectRatio * height || height > kMaxAspectRatio * width) {
        refuse("The image is too narrow: " + size + "; one side may be " + std::to_string(kMaxAspectRatio) +
               " times as long as the other.");
    }
    return {static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
}

int int_size(const ImageSource& source) {
    if (source.bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) refuse("The image is too large.");
    return static_cast<int>(source.bytes.size());
}

}  // namespace

ImageSize inspect_image(const ImageSource& source) {
    if (source.width > 0) {
        const ImageSize size = checked_size(source.width, source.height);
        if (source.bytes.size() != uint64_t{3} * size.width * size.height) {
            refuse("Wrong number of bytes: every pixel needs three.");
        }
        return size;
    }
    const Bytes file(source.bytes);
    // stb reports the largest sizes as corrupt, so a PNG's size is checked before.
    if (file.starts_with(kPng)) checked_size(file.big_endian(16, 4), file.big_endian(20, 4));
    int width = 0, height = 0, n_channels = 0;
    if (!is_known(file) || !stbi_info_from_memory(file.data(), int_size(source), &width, &height, &n_channels)) {
        refuse("Unsupported or damaged image: PNG, JPEG, GIF and BMP can be read.");
    }
    const ImageSize size =
        checked_size(static_cast<uint64_t>(std::max(width, 0)), static_cast<uint64_t>(std::max(height, 0)));
    if (file.starts_with(kJpeg)) {
        const uint64_t n_scans = count_scans(file);
        if (n_scans > kMaxScans || n_scans * size.width * size.height > kMaxScanPixels) {
            refuse("The JPEG has " + std::to_string(n_scans) + " scans, too many for its size.");
        }
    }
    return size;
}

Pixels decode_image(const ImageSource& source) {
    const ImageSize size = inspect_image(source);
    if (source.width > 0) {
        auto* copy = static_cast<unsigned char*>(std::malloc(source.bytes.size()));
        if (copy == nullptr) throw std::bad_alloc();
        std::copy(source.bytes.begin(), source.bytes.end(), copy);
        return {size, {copy, std::free}};
    }
    const Bytes file(source.bytes);
    if (file.starts_with(kPng)) check_inflated_size(file, uint64_t{size.width} * size.height);
    int    width = 0, height = 0, n_channels = 0;
    Pixels pixels{
        size, {stbi_load_from_memory(file.data(), int_size(source), &width, &height, &n_channels, 3), stbi_image_free}};
    if (!pixels.rgb) refuse(std::string("The image is damaged (") + stbi_failure_reason() + ").");
    if (static_cast<uint32_t>(width) != size.width || static_cast<uint32_t>(height) != size.height) {
        refuse("The image differs from the size in its header.");
    }
    return pixels;
}

}  // namespace chasqui
