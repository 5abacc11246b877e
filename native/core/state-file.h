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

// The inputs that a sequence's state was computed from.
struct StateOrigin {
    std::string          model;     // everything else that the state depends on: weights, context, llama.cpp
    std::string          scope;  // the adapters of the computation and the cache salt
    std::vector<TokenId> tokens;

    bool operator==(const StateOrigin& other) const {
        return model == other.model && scope == other.scope && tokens == other.tokens;
    }
};

// A file with the state of a sequence. llama.cpp hardly validates states, so it must only get exactly what was written
// here for the same model. In native byte order:
//
//   "chqstat1" │ sizes and checksums of both parts │ origin │ state
//
// A damaged file, or one of another format or byte order, is ignored: its state can be computed again.

struct StateFile {
    StateOrigin    origin;
    SnapshotBuffer state;
};

// Size of a file minus its texts, tokens and state, in bytes.
constexpr uint64_t kStateFileOverhead = 72;

// Called every few megabytes; false cancels the operation.
using ShouldContinue = std::function<bool()>;

// Writes a temporary file and renames it; only its owner may read it. Throws std::exception if writing fails. Returns
// false if cancelled. In both cases no file remains.
bool write_state_file(
    const std::filesystem::path& path, const StateOrigin& origin, const SnapshotBuffer& state,
    const ShouldContinue& should_continue = [] { return true; });
// Does not read the state.
std::optional<StateOrigin> read_state_origin(const std::filesystem::path& path);
// nullopt also if the state exceeds `max_bytes` or there is no memory for it.
std::optional<StateFile> read_state_file(
    const std::filesystem::path& path, uint64_t max_bytes, const ShouldContinue& should_continue = [] { return true; });

}  // namespace chasqui
