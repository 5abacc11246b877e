// Thread: JS.
#pragma once

namespace chasqui {

// Prepares a process that runs nothing but an engine. On Linux the process is killed when the thread that started it ends,
// however that ends and whatever this one is doing: it has to be started by a thread that lives as long as its process.
// Without `core_dumps` it leaves no core file, which would contain the users' prompts and take as long to write as the
// model is large.
void own_process(bool core_dumps) noexcept;

}  // namespace chasqui
