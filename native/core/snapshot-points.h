// Thread: any.
#pragma once

#include <cstddef>
#include <vector>

namespace chasqui {

// The positions of a prompt for snapshots of a state that cannot be truncated (recurrent and hybrid models). Other
// prompts can only continue from a snapshot. `message_starts` are the positions where messages begin, ascending.
// Returns positions in (0, n_prompt), ascending:
//
//   system │ user │ assistant │ ... │ user │ assistant
//          ▲                        ▲      ▲
//    for other prompts with       some     for the next turn, and for the same prompt again
//    the same instructions
//
// Except for the last one, the points do not depend on later tokens, so prompts with a common prefix have the same
// points within it.
std::vector<size_t> snapshot_points(const std::vector<size_t>& message_starts, size_t n_prompt);

}  // namespace chasqui
