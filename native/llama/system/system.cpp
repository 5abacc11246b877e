#include "system.h"

#include "../../core/prepare-pool.h"

#include <llama-interrupt.h>

#ifdef __linux__
#include <pthread.h>
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

void enlarge_thread_stacks() {
#if defined(__linux__) && !defined(__GLIBC__)
    constexpr size_t stack_bytes = 8 << 20;  // musl's maximum
    pthread_attr_t   attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    if (pthread_attr_setstacksize(&attributes, stack_bytes) == 0) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
#endif
}

void make_interruptible() {
    llama_set_interrupt([](void*) { PreparePool::check(); }, nullptr);
}

}  // namespace chasqui
