// Mapping of a model file in huge pages: patch 0003 calls this. Part of the library llama.
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// The hint has to precede the first access. Readahead is off while the file is populated: if a part of the file is
// in the page cache already, the kernel would continue in folios of the readahead window, which are smaller.
bool populate_in_huge_pages([[maybe_unused]] void* start, [[maybe_unused]] size_t size) {
#ifdef MADV_POPULATE_READ
    return madvise(start, size, MADV_RANDOM) == 0 && madvise(start, size, MADV_POPULATE_READ) == 0 &&
           madvise(start, size, MADV_NORMAL) == 0;
#else
    return false;
#endif
}

}  // namespace

void* chasqui_map_in_huge_pages(int fd, size_t size, bool populate);

// The kernel maps a huge page of a file only where address and file offset agree in their last 21 bits, so the address
// is aligned. Returns MAP_FAILED for a small file, or if the kernel lacks one of these calls.
void* chasqui_map_in_huge_pages(int fd, size_t size, bool populate) {
    if (size < 4 * kHugePage) return MAP_FAILED;
    const size_t reserved = size + kHugePage;
    void* const  space    = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return MAP_FAILED;
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(space) % kHugePage) % kHugePage;
    char* const  start  = static_cast<char*>(space) + before;

    bool is_mapped = mmap(start, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
    is_mapped      = is_mapped && madvise(start, size, MADV_HUGEPAGE) == 0;
    is_mapped      = is_mapped && (!populate || populate_in_huge_pages(start, size));
    if (!is_mapped) {
        munmap(space, reserved);
        return MAP_FAILED;
    }
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t end  = before + (size + page - 1) / page * page;
    if (before > 0) munmap(space, before);
    if (end < reserved) munmap(static_cast<char*>(space) + end, reserved - end);
    return start;
}
#endif
