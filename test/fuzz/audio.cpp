// Fuzzes an audio file: its header, and up to a second of its samples.
#include "core/error-code.h"
#include "execution.h"
#include "llama/audio/audio-file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace chasqui;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr uint32_t kSampleRate = 16000;
    constexpr size_t   kMaxSamples = kSampleRate;
    fuzz::count_execution();
    try {
        const Samples samples = decode_audio({data, data + size}, kSampleRate, kMaxSamples);
        if (samples.size() < kSampleRate / kMinAudioSamplesPerSecond || samples.size() > kMaxSamples) std::abort();
        // Reads every sample of the result.
        int sum = 0;
        for (const int16_t sample : samples) sum += sample;
        if (sum == 1) return -1;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_audio && error.code() != ErrorCode::audio_too_large) std::abort();
    }
    return 0;
}
