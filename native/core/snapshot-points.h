// Thread: any.
#pragma once

#include <cstddef>
#include <vector>

namespace chasqui {

// Where a prompt's state is worth keeping, for models whose state cannot be cut back to an earlier token (recurrent and
// hybrid ones): other prompts can start from there only. `message_starts` are the positions where messages begin,
// ascending; `n_prompt` the prompt's length. Returns positions in (0, n_prompt), ascending:
//
//   system │ user │ assistant │ ... │ user │ assistant
//          ▲                        ▲      ▲
//    others with the      now and then    the next turn, and the same prompt once more
//    same instructions
//
// But for the last one they do not depend on what comes after them: prompts that begin alike have them in common.
std::vector<size_t> snapshot_points(const std::vector<size_t>& message_starts, size_t n_prompt);

}  // namespace chasqui
