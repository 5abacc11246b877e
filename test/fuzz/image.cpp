// Fuzzes an image file: its header, and its pixels if the header claims a small image.
#include "core/error-code.h"
#include "execution.h"
#include "llama/images/image-file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace chasqui;

namespace {

// More pixels take longer to decode but use the same code.
constexpr uint64_t kMaxPixels = fuzz::divided(size_t{1} << 16);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::count_execution();
    ImageSource source;
    source.bytes.assign(data, data + size);
    try {
        const ImageSize claimed = inspect_image(source);
        if (uint64_t{claimed.width} * claimed.height > kMaxPixels) return 0;
        const Pixels pixels = decode_image(source);
        if (pixels.size.width != claimed.width || pixels.size.height != claimed.height) std::abort();
        // Reads every byte of the result.
        unsigned sum = 0;
        for (size_t i = 0; i < size_t{3} * claimed.width * claimed.height; ++i) sum += pixels.rgb.get()[i];
        if (sum == 1) return -1;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_image) std::abort();
    }
    return 0;
}
