#include "system.h"

#include "../../core/prepare-pool.h"

#include <llama-interrupt.h>

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif
#ifdef __APPLE__
#include <pthread/qos.h>
#endif

namespace chasqui {

size_t main_memory_bytes() {
#ifdef __linux__
    const long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (n_pages > 0 && page_bytes > 0) return static_cast<size_t>(n_pages) * static_cast<size_t>(page_bytes);
#endif
    return 0;
}

void lower_thread_priority([[maybe_unused]] int niceness) {
#if defined(__linux__)
    setpriority(PRIO_PROCESS, 0, niceness);  // on Linux this affects one thread, not the process
#elif defined(__APPLE__)
    pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#endif
}

void make_interruptible() {
    llama_set_interrupt([](void*) { PreparePool::check(); }, nullptr);
}

}  // namespace chasqui
