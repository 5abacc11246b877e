// Thread: JS.
#pragma once

namespace chasqui {

// Prepares a process that only runs an engine. On Linux the kernel kills the process when the thread that started it
// ends, in whatever state both are. So that thread must live as long as its process. Without `core_dumps` no core file
// is written: it would contain the users' prompts, and be as large as the model.
void own_process(bool core_dumps) noexcept;

}  // namespace chasqui
