// Thread: those of a PreparePool.
#pragma once

namespace chasqui {

// What llama.cpp does on the calling thread from now on ends when PreparePool::check() says so.
void make_interruptible();

}  // namespace chasqui
