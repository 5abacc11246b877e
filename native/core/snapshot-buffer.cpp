#include "snapshot-buffer.h"

#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace chasqui {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Only large buffers are aligned to huge pages, because alignment wastes memory before the buffer.
size_t alignment_of(size_t size) { return size >= 2 * kHugePage ? kHugePage : alignof(std::max_align_t); }

}  // namespace

SnapshotBuffer::SnapshotBuffer(size_t size)
    : bytes_(static_cast<uint8_t*>(::operator new(size, std::align_val_t{alignment_of(size)})), {alignment_of(size)}),
      size_(size) {
#ifdef __linux__
    // Only whole huge pages are advised: the rest of the last one belongs to other memory. Failure only makes the
    // buffer slower.
    if (alignment_of(size) == kHugePage) madvise(bytes_.get(), size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

void SnapshotBuffer::Free::operator()(uint8_t* bytes) const { ::operator delete(bytes, std::align_val_t{alignment}); }

}  // namespace chasqui
