// Thread: any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chasqui {

// Where files with the states of conversations are: a folder of all models, and one for each of them in it. Only the
// account that they were held under can look into the latter.
//
// Several processes may use it at the same time, without knowing of each other. So any file may be gone at any time, and
// files without the last part of their name, which marks whole ones, are those that are being written, or whose writer
// was ended. All of them count for the limit.
class StateFolder {
public:
    StateFolder(std::filesystem::path folder, const std::string& model, uint64_t max_bytes);

    // False if it belongs to another account, which could have put anything there, or is not there.
    bool is_trusted() const;
    // Makes the model's folder. Throws std::exception if that cannot be made, or not for this account alone.
    void prepare() const;
    // Of a state with such a checksum.
    std::filesystem::path path_of(uint64_t checksum) const;
    // The model's whole files, the least recently used first.
    std::vector<std::filesystem::path> whole_files() const;
    // Removes what was left unfinished, and then files of any model until `n_bytes` more fit: those of `first` before all
    // others, which go by their last use. False when they cannot fit.
    bool make_room(uint64_t n_bytes, const std::vector<std::filesystem::path>& first = {}) const;
    // Whether the device has room for so many bytes; if that is not known, it has.
    bool has_space(uint64_t n_bytes) const;

private:
    std::filesystem::path folder_, own_;
    uint64_t              max_bytes_;
};

}  // namespace chasqui
