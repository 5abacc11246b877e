// Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace chasqui {

// Bytes that are written once and read often: not cleared, and where they are many in huge pages, if the system has any.
// Taken page by page from the kernel, such a buffer takes longer to get than to fill.
class SnapshotBuffer {
public:
    SnapshotBuffer() = default;
    // Throws std::bad_alloc.
    explicit SnapshotBuffer(size_t size);

    uint8_t*       data() { return bytes_.get(); }
    const uint8_t* data() const { return bytes_.get(); }
    size_t         size() const { return size_; }
    // At most what it is now.
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
