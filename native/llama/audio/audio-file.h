// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chasqui {

// One channel.
using Samples = std::vector<int16_t>;

// Shorter audio has no frame for some encoders, which would abort.
constexpr uint32_t kMinAudioSamplesPerSecond = 10;  // a tenth of a second

// Decodes a WAV, MP3 or FLAC file to at most `max_samples` samples of one channel. Calls PreparePool::check() often.
// Throws `invalid_audio`, or `audio_too_large` for a longer file. The length in the header is checked first.
Samples decode_audio(const std::vector<uint8_t>& file, uint32_t sample_rate, size_t max_samples);

}  // namespace chasqui
