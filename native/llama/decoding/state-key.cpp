#include "state-key.h"

#include <hash/hash.h>
#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#ifndef _WIN32
#include <sys/stat.h>
#endif

namespace chasqui {

namespace {

// Incremented when the meaning of a stored state changes without a change of llama.cpp or its patches.
constexpr int kVersion = 1;

constexpr uint64_t kSamples     = 64;
constexpr uint64_t kSampleBytes = uint64_t{64} << 10;

std::vector<std::string> files_of(const Model& model) {
    char text[32] = {};
    llama_model_meta_val_str(model.handle(), "split.count", text, sizeof text);
    const int n_files = std::atoi(text);
    std::vector<char> buffer(model.path().size() + 64);
    const auto size = buffer.size();
    if (n_files < 2 || llama_split_prefix(buffer.data(), size, model.path().c_str(), 0, n_files) == 0) {
        return {model.path()};
    }
    const std::string        prefix = buffer.data();
    std::vector<std::string> files;
    for (int i = 0; i < n_files; ++i) {
        llama_split_path(buffer.data(), size, prefix.c_str(), i, n_files);
        files.emplace_back(buffer.data());
    }
    return files;
}

// Some models use other rotation factors in contexts longer than this (llama_model::get_rope_factors), regardless of
// the settings.
uint32_t original_context(const Model& model) {
    const std::string said = model.metadata(".rope.scaling.original_context_length");
    return said.empty() ? static_cast<uint32_t>(model.trained_context_length())
                        : static_cast<uint32_t>(std::strtoul(said.c_str(), nullptr, 10));
}

std::string rope_key(const RopeSettings& rope) {
    std::string key = rope.scaling;
    for (const float each : {rope.frequency_base, rope.frequency_scale, rope.yarn_extrapolation, rope.yarn_attention,
                             rope.yarn_beta_slow, rope.yarn_beta_fast}) {
        key += " " + std::to_string(each);
    }
    return key + " " + std::to_string(rope.yarn_original_context);
}

}  // namespace

std::string file_identity(const std::string& path) {
#ifdef _WIN32
    std::error_code gone;
    const uint64_t  size = std::filesystem::file_size(std::filesystem::u8path(path), gone);
    const auto      time = std::filesystem::last_write_time(std::filesystem::u8path(path), gone).time_since_epoch().count();
    return gone ? "" : std::to_string(size) + " " + std::to_string(time);
#else
    struct stat file = {};
    if (stat(path.c_str(), &file) != 0) return "";
#ifdef __APPLE__
    const timespec &written = file.st_mtimespec, &changed = file.st_ctimespec;
#else
    const timespec &written = file.st_mtim, &changed = file.st_ctim;
#endif
    std::string identity = std::to_string(file.st_size) + " " + std::to_string(file.st_ino);
    for (const timespec& time : {written, changed}) {
        identity += " " + std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
    }
    return identity;
#endif
}

std::string fingerprint(const std::string& path) {
    std::ifstream  file(std::filesystem::u8path(path), std::ios::binary);
    const uint64_t size = std::filesystem::file_size(std::filesystem::u8path(path));
    std::string    samples;
    const uint64_t n_bytes = std::min(size, kSampleBytes);
    for (uint64_t i = 0; i < kSamples; ++i) {
        std::string sample(n_bytes, '\0');
        file.seekg(static_cast<std::streamoff>((size - n_bytes) / (kSamples - 1) * i));
        file.read(sample.data(), static_cast<std::streamsize>(n_bytes));
        if (!file) throw std::runtime_error(path + " cannot be read");
        samples += sample;
    }
    return hash_sha256_hex(samples.data(), samples.size()) + " " + file_identity(path);
}

std::string state_key(const Model& model, const DecoderOptions& options, uint32_t context_length) {
    const ContextSettings& context = options.context;
    std::string            key = "version " + std::to_string(kVersion) + "\nllama.cpp " CHASQUI_LLAMA_STAMP "\n";
    for (const std::string& file : files_of(model)) key += "weights " + fingerprint(file) + "\n";
    for (const std::string& entry : model.offload().options().file.metadata) key += "metadata " + entry + "\n";
    const bool is_long = context_length > original_context(model);
    key += "cells " + context.keys + " " + context.values + " " + context.flash_attention + "\n";
    // llama.cpp stores the maximum number of sequences in a state, and requires the same number to read it.
    key += "sequences " + std::to_string(options.n_slots) + "\n";
    key += "rope " + rope_key(context.rope) + (is_long ? " long" : " short") + "\n";
    return key;
}

}  // namespace chasqui
