// Thread: any.
#pragma once

namespace chasqui {

// Gives the calling thread, and on Linux the threads that it starts, a lower priority than the threads that compute
// steps. `niceness` is that of setpriority, 0 to 19; macOS has one level only.
void lower_thread_priority(int niceness);

}  // namespace chasqui
