// Memory of ggml_aligned_malloc() on POSIX systems: patch 0003 calls this. Part of ggml-base.
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#endif
#if !defined(_WIN32)
#include <stdlib.h>

int chasqui_aligned_memory(void** memory, size_t alignment, size_t size);

int chasqui_aligned_memory(void** memory, size_t alignment, size_t size) {
#if defined(__linux__)
    const size_t huge_page = (size_t)2 << 20;
    if (size >= 4 * huge_page) {
        const int result = posix_memalign(memory, huge_page, size);
        if (result == 0) madvise(*memory, size, MADV_HUGEPAGE);
        return result;
    }
#endif
    return posix_memalign(memory, alignment, size);
}
#endif
