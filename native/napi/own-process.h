// Thread: JS.
#pragma once

namespace chasqui {

// Makes this process an engine's own: it ends at once when the process that started it does, however that ends and
// whatever this one is doing, and unless `core_dumps`, its end leaves no core file, which would hold the users' prompts and
// take as long to write as the model is large. Linux ends it; elsewhere only the limit on core files is set, where there is
// one.
void own_process(bool core_dumps) noexcept;

}  // namespace chasqui
