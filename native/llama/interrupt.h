// Thread: a PreparePool's.
#pragma once

namespace chasqui {

// From now on llama.cpp's work on the calling thread calls PreparePool::check() and ends when that throws.
void make_interruptible();

}  // namespace chasqui
