#include "interrupt.h"

#include "../core/prepare-pool.h"

#include <llama-interrupt.h>

namespace chasqui {

void make_interruptible() {
    llama_set_interrupt([](void*) { PreparePool::check(); }, nullptr);
}

}  // namespace chasqui
