#include "audio-file.h"

#include "../../core/error-code.h"
#include "../../core/prepare-pool.h"

#define MINIAUDIO_IMPLEMENTATION
#define MA_API static
#define MA_NO_DEVICE_IO
#define MA_NO_ENCODING
#define MA_NO_ENGINE
#define MA_NO_GENERATION
#define MA_NO_NODE_GRAPH
#define MA_NO_RESOURCE_MANAGER
#define MA_NO_THREADING
#include <miniaudio/miniaudio.h>

#include <cstring>
#include <string>

namespace chasqui {

namespace {

constexpr uint32_t kMaxChannels = 8;
constexpr uint32_t kMinRate = 4000, kMaxRate = 192000;
// Read at once.
constexpr size_t kBlock = 16384;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_audio, message); }

[[noreturn]] void refuse_length(size_t max_samples, uint32_t sample_rate) {
    throw Error(ErrorCode::audio_too_large, "The audio is too long: " + std::to_string(max_samples / sample_rate) +
                                                " seconds of the limit for a request are left.");
}

bool has(const std::vector<uint8_t>& file, size_t at, const char* magic) {
    const size_t length = std::strlen(magic);
    return file.size() >= at + length && std::memcmp(file.data() + at, magic, length) == 0;
}

// miniaudio also finds WAV data in other containers, such as AIFF. They are refused.
ma_encoding_format format_of(const std::vector<uint8_t>& file) {
    if (has(file, 0, "RIFF") && has(file, 8, "WAVE")) return ma_encoding_format_wav;
    if (has(file, 0, "fLaC")) return ma_encoding_format_flac;
    if (has(file, 0, "ID3") || (file.size() > 1 && file[0] == 0xff && (file[1] & 0xe0) == 0xe0)) return ma_encoding_format_mp3;
    refuse("Unsupported audio: WAV, MP3 and FLAC can be read.");
}

// miniaudio shortens a chunk of samples that is longer than the file.
void check_wav(const std::vector<uint8_t>& file) {
    constexpr size_t   kHeader    = 8;
    constexpr uint64_t kUndefined = 0xffffffff;  // written to a pipe
    for (uint64_t at = 12, length = 0; at + kHeader <= file.size(); at += kHeader + length + length % 2) {
        const uint8_t* size = file.data() + at + 4;
        length              = size[0] | size[1] << 8 | size[2] << 16 | uint64_t{size[3]} << 24;
        if (!has(file, at, "data")) continue;
        if (length == kUndefined || at + kHeader + length <= file.size()) return;
        refuse("The audio is truncated: its header declares " + std::to_string(length) + " bytes, but " +
               std::to_string(file.size() - at - kHeader) + " follow.");
    }
    refuse("The audio is damaged: the WAV file has no samples.");
}

class AudioDecoder {
public:
    AudioDecoder(const std::vector<uint8_t>& file, ma_encoding_format format, uint32_t sample_rate) {
        ma_decoder_config config = ma_decoder_config_init(ma_format_s16, 1, sample_rate);
        config.encodingFormat    = format;
        if (ma_decoder_init_memory(file.data(), file.size(), &config, &decoder_) != MA_SUCCESS) {
            refuse("The audio is damaged: its header cannot be read.");
        }
    }
    ~AudioDecoder() { ma_decoder_uninit(&decoder_); }
    AudioDecoder(const AudioDecoder&)            = delete;
    AudioDecoder& operator=(const AudioDecoder&) = delete;

    void check_format() {
        ma_uint32 n_channels = 0, rate = 0;
        ma_data_source_get_data_format(decoder_.pBackend, nullptr, &n_channels, &rate, nullptr, 0);
        if (n_channels == 0 || n_channels > kMaxChannels) {
            refuse("The audio has " + std::to_string(n_channels) + " channels: 1 to " + std::to_string(kMaxChannels) +
                   " can be read.");
        }
        if (rate < kMinRate || rate > kMaxRate) {
            refuse("The audio has a sample rate of " + std::to_string(rate) + " Hz: " + std::to_string(kMinRate) +
                   " to " + std::to_string(kMaxRate) + " can be read.");
        }
    }

    // The samples that the header declares; 0: unknown.
    uint64_t declared_length() {
        ma_uint64 length = 0;
        ma_decoder_get_length_in_pcm_frames(&decoder_, &length);
        return length;
    }

    // Returns the number of samples, 0 at the end.
    size_t read(int16_t* to, size_t n_samples) {
        ma_uint64 n_read = 0;
        ma_decoder_read_pcm_frames(&decoder_, to, n_samples, &n_read);
        return static_cast<size_t>(n_read);
    }

private:
    ma_decoder decoder_{};
};

}  // namespace

Samples decode_audio(const std::vector<uint8_t>& file, uint32_t sample_rate, size_t max_samples) {
    const ma_encoding_format format = format_of(file);
    if (format == ma_encoding_format_wav) check_wav(file);
    AudioDecoder decoder(file, format, sample_rate);
    decoder.check_format();
    // For an MP3 this would decode the file.
    const uint64_t declared = format == ma_encoding_format_mp3 ? 0 : decoder.declared_length();
    if (declared > max_samples) refuse_length(max_samples, sample_rate);
    Samples samples;
    for (size_t n_read = 0;;) {
        PreparePool::check();
        samples.resize(n_read + kBlock);
        const size_t n_new = decoder.read(samples.data() + n_read, kBlock);
        n_read += n_new;
        if (n_read > max_samples) refuse_length(max_samples, sample_rate);
        if (n_new > 0) continue;
        samples.resize(n_read);
        break;
    }
    if (samples.size() < sample_rate / kMinAudioSamplesPerSecond) {
        refuse("The audio is damaged, or shorter than a tenth of a second.");
    }
    // Conversion of the sample rate rounds, and may hold back the last samples.
    if (samples.size() + sample_rate / kMinAudioSamplesPerSecond < declared) {
        refuse("The audio is truncated: its header declares " + std::to_string(declared / sample_rate) + " seconds.");
    }
    return samples;
}

}  // namespace chasqui
