// Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace chasqui {

// Uninitialised memory for a snapshot. Large buffers use huge pages if available; otherwise the kernel would take
// longer to map the buffer page by page than it takes to fill it.
class SnapshotBuffer {
public:
    SnapshotBuffer() = default;
    // Throws std::bad_alloc.
    explicit SnapshotBuffer(size_t size);

    uint8_t*       data() { return bytes_.get(); }
    const uint8_t* data() const { return bytes_.get(); }
    size_t         size() const { return size_; }
    // `size` must not exceed the current size.
    void shrink_to(size_t size) { size_ = size; }

private:
    struct Free {
        size_t alignment;
        void   operator()(uint8_t* bytes) const;
    };

    std::unique_ptr<uint8_t, Free> bytes_{nullptr, Free{}};
    size_t                         size_ = 0;
};

}  // namespace chasqui
