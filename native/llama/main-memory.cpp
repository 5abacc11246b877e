#include "main-memory.h"

#ifdef __linux__
#include <unistd.h>
#endif

namespace chasqui {

size_t main_memory_bytes() {
#ifdef __linux__
    const long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (n_pages > 0 && page_bytes > 0) return static_cast<size_t>(n_pages) * static_cast<size_t>(page_bytes);
#endif
    return 0;
}

}  // namespace chasqui
