// Thread: any.
#pragma once

#include <cstddef>
#include <vector>

namespace chasqui {

// Where in a prompt to take snapshots, for models whose state cannot be truncated (recurrent and hybrid ones): other
// prompts can only continue from a snapshot. `message_starts` are the positions where messages begin, ascending;
// `n_prompt` is the prompt's length. Returns positions in (0, n_prompt), ascending:
//
//   system │ user │ assistant │ ... │ user │ assistant
//          ▲                        ▲      ▲
//    for others with              some     for the next turn, and for the same prompt again
//    the same instructions
//
// Except for the last one, the points do not depend on what comes after them, so that prompts with a common prefix have
// the same points in it.
std::vector<size_t> snapshot_points(const std::vector<size_t>& message_starts, size_t n_prompt);

}  // namespace chasqui
