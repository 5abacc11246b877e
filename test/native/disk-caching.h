// Shared helpers of the disk cache tests.
#pragma once

#include "check.h"

#include "core/disk-cache.h"
#include "core/mailbox.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace chasqui::test {

namespace fs = std::filesystem;
using Tokens = std::vector<TokenId>;

// A folder that goes with the test.
class Folder {
public:
    Folder() : path(fs::temp_directory_path() / ("chasqui-disk-" + std::to_string(std::random_device()()))) {
        fs::create_directories(path);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    std::vector<fs::path> files() const {
        std::vector<fs::path> files;
        for (const auto& each : fs::recursive_directory_iterator(path)) {
            if (each.is_regular_file()) files.push_back(each.path());
        }
        return files;
    }
    const fs::path path;
};

inline Tokens counting(TokenId from, size_t n) {
    Tokens tokens(n);
    for (size_t i = 0; i < n; ++i) tokens[i] = from + static_cast<TokenId>(i);
    return tokens;
}

inline Tokens joined(Tokens one, const Tokens& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

inline std::shared_ptr<const SnapshotBuffer> state_of(const std::string& text) {
    SnapshotBuffer state(text.size());
    std::memcpy(state.data(), text.data(), text.size());
    return std::make_shared<const SnapshotBuffer>(std::move(state));
}

inline std::string text_of(const SnapshotBuffer& state) {
    return {reinterpret_cast<const char*>(state.data()), state.size()};
}

// A cache and its fetched states.
struct Cache {
    explicit Cache(const Folder& folder, const std::string& model = "m", uint64_t max_bytes = 1 << 20,
                   Truncation truncation = Truncation::anywhere, uint64_t max_state_bytes = 1 << 20)
        : Cache(options(folder, model, max_bytes, truncation, max_state_bytes)) {}
    explicit Cache(const DiskCacheOptions& options)
        : owned(DiskCache::open(options, [this](FetchedState each) { fetched.put(std::move(each)); })) {}
    ~Cache() { disk.close(); }

    static DiskCacheOptions options(const Folder& folder, const std::string& model, uint64_t max_bytes,
                                    Truncation truncation, uint64_t max_state_bytes) {
        DiskCacheOptions options;
        options.folder          = folder.path;
        options.model           = model;
        options.max_bytes       = max_bytes;
        options.max_state_bytes = max_state_bytes;
        options.max_tokens      = 10'000;
        options.truncation      = truncation;
        return options;
    }

    void save(const Tokens& tokens, const std::string& text, const std::string& adapters = "") {
        disk.save_now(tokens, adapters, state_of(text));
    }
    FetchedState fetch(const Tokens& tokens, const std::string& adapters = "") {
        if (!disk.fetch(7, tokens, adapters)) return {};
        FetchedState taken = std::move(fetched.take(true).at(0));
        disk.taken();
        return taken;
    }

    Mailbox<FetchedState>      fetched;
    std::shared_ptr<DiskCache> owned;
    DiskCache&                 disk = *owned;
};

inline const Tokens kLong = counting(0, 400);

}  // namespace chasqui::test
