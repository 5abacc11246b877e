#include "own-process.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#endif
#ifdef __linux__
#include <csignal>
#include <sys/prctl.h>
#endif

namespace chasqui {

void own_process([[maybe_unused]] bool core_dumps) noexcept {
#ifdef __linux__
    // SIGKILL also ends a stopped process. https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
#if defined(__unix__) || defined(__APPLE__)
    if (!core_dumps) {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
    }
#endif
}

}  // namespace chasqui
