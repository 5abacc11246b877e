// Thread: any.
#pragma once

#include "job.h"
#include "snapshot-buffer.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chasqui {

// What a sequence's state was computed from.
struct StateOrigin {
    std::string          model;     // all that a state depends on beside its tokens: weights, context, llama.cpp
    std::string          adapters;  // that it was computed with
    std::vector<TokenId> tokens;

    bool operator==(const StateOrigin& other) const {
        return model == other.model && adapters == other.adapters && tokens == other.tokens;
    }
};

// A file with the state of a sequence, which llama.cpp reads without much checking: it gets nothing that is not, to the
// last bit, what was written here and for the same model. In the order of bytes of the machine:
//
//   "chqstat1" │ sizes and checksums of both parts │ origin │ state
//
// Damage of any kind, another format or another machine's order make a file unreadable, which is no error: whatever it
// held can be computed.

struct StateFile {
    StateOrigin    origin;
    SnapshotBuffer state;
};

// Of a file, beside the texts, tokens and bytes in it.
constexpr uint64_t kStateFileOverhead = 72;

// Is asked every few megabytes whether to go on with a file.
using GoOn = std::function<bool()>;

// The file appears under its name when it is complete, and only its owner may read it. Throws std::exception if it cannot
// be written, and returns false if it is not to be; nothing of it is left then.
bool write_state_file(const std::filesystem::path& path, const StateOrigin& origin, const SnapshotBuffer& state,
                      const GoOn& go_on = [] { return true; });
// Without the state, which is not looked at.
std::optional<StateOrigin> read_state_origin(const std::filesystem::path& path);
// Nothing as well if the state has more than `max_bytes`, or if there is no memory for it.
std::optional<StateFile> read_state_file(const std::filesystem::path& path, uint64_t max_bytes,
                                         const GoOn& go_on = [] { return true; });

}  // namespace chasqui
