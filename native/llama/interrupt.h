// Thread: a PreparePool's.
#pragma once

namespace chasqui {

// Makes llama.cpp's work on the calling thread call PreparePool::check(), which may throw to end it.
void make_interruptible();

}  // namespace chasqui
