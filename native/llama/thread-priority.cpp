#include "thread-priority.h"

#ifdef __linux__
#include <sys/resource.h>
#endif
#ifdef __APPLE__
#include <pthread/qos.h>
#endif

namespace chasqui {

void lower_thread_priority([[maybe_unused]] int niceness) {
#if defined(__linux__)
    setpriority(PRIO_PROCESS, 0, niceness);  // on Linux this affects one thread, not the process
#elif defined(__APPLE__)
    pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#endif
}

}  // namespace chasqui
