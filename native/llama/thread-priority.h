// Thread: any.
#pragma once

namespace chasqui {

// Puts the calling thread, and on Linux those that it starts, behind the threads that compute steps. `niceness` is that of
// setpriority, 0 to 19; macOS knows one step only.
void lower_thread_priority(int niceness);

}  // namespace chasqui
