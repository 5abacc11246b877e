// Thread: any.
#pragma once

namespace chasqui {

// Lowers the priority of the calling thread and, on Linux, of the threads that it starts. `niceness`: as for
// setpriority, 0 to 19; macOS has a single level.
void lower_thread_priority(int niceness);

}  // namespace chasqui
