// Thread: any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chasqui {

// The folder of state files: it has a folder for each model, which only this account can read.
//
// Several processes may use it without coordination, so any file may vanish at any time. Files without the suffix of
// finished ones are being written, or their writer has died. All files count towards the limit.
class StateFolder {
public:
    StateFolder(std::filesystem::path folder, const std::string& model, uint64_t max_bytes);

    // False if the model's folder does not exist, or belongs to another account, which could have written anything.
    bool is_trusted() const;
    // Creates the model's folder. Throws std::exception if that fails or the folder cannot be made private.
    void prepare() const;
    std::filesystem::path path_of(uint64_t checksum) const;
    // The model's finished files, least recently used first.
    std::vector<std::filesystem::path> whole_files() const;
    // Deletes abandoned files, then files of any model until `n_bytes` more fit: first those in `first`, then in LRU
    // order. False if they cannot fit.
    bool free_space(uint64_t n_bytes, const std::vector<std::filesystem::path>& first = {}) const;
    // Whether the device has this much free space; true if unknown.
    bool has_space(uint64_t n_bytes) const;

private:
    std::filesystem::path folder_, own_;
    uint64_t              max_bytes_;
};

}  // namespace chasqui
