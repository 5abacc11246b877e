#include "kv-pages.h"

#include <ggml-alloc.h>

#include "../ggml/src/ggml-backend-impl.h"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>

namespace chasqui {
namespace {

size_t page_size() {
    static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// Releases the pages that lie completely within these bytes.
void release(void* memory, size_t size) {
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page_size() - 1) / page_size() * page_size();
    const uintptr_t end   = (reinterpret_cast<uintptr_t>(memory) + size) / page_size() * page_size();
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void free_pages(ggml_backend_buffer_t buffer) { munmap(buffer->context, buffer->size); }

void clear_pages(ggml_backend_buffer_t buffer, uint8_t value) {
    release(buffer->context, buffer->size);
    if (value != 0) std::fill_n(static_cast<uint8_t*>(buffer->context), buffer->size, value);
}

ggml_backend_buffer_t reserve(size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    // The first cell of a sequence would commit a huge page for each of its tensors.
    madvise(memory, size, MADV_NOHUGEPAGE);
    ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(memory, size);
    buffer->iface.free_buffer    = free_pages;
    buffer->iface.clear          = clear_pages;
    return buffer;
}

}  // namespace

ggml_backend_buffer_t alloc_kv_tensors(ggml_context* ctx, ggml_backend_buffer_type_t buft) {
    ggml_backend_buffer_t buffer = nullptr;
    if (buft == ggml_backend_cpu_buffer_type()) {
        const size_t size = ggml_backend_alloc_ctx_tensors_from_buft_size(ctx, buft);
        buffer            = reserve((size + page_size() - 1) / page_size() * page_size());
    }
    if (buffer == nullptr) return ggml_backend_alloc_ctx_tensors_from_buft(ctx, buft);
    ggml_tallocr allocator = ggml_tallocr_new(buffer);
    for (ggml_tensor* t = ggml_get_first_tensor(ctx); t != nullptr; t = ggml_get_next_tensor(ctx, t)) {
        if ((t->view_src ? ggml_backend_view_init(t) : ggml_tallocr_alloc(&allocator, t)) == GGML_STATUS_SUCCESS)
            continue;
        ggml_backend_buffer_free(buffer);
        return nullptr;
    }
    return buffer;
}

void release_kv_cells(const ggml_tensor* tensor, uint32_t begin, uint32_t end, bool transposed) {
    if (tensor == nullptr || tensor->buffer == nullptr || tensor->buffer->iface.clear != clear_pages) return;
    char* const data = static_cast<char*>(tensor->data);
    if (begin == 0) {
        release(data, ggml_nbytes(tensor));
    } else if (!transposed) {
        release(data + begin * tensor->nb[1], (end - begin) * tensor->nb[1]);
    } else {
        const size_t item = ggml_type_size(tensor->type);
        for (int64_t row = 0; row < tensor->ne[0]; ++row) {
            release(data + static_cast<size_t>(row * tensor->ne[1] + begin) * item, (end - begin) * item);
        }
    }
}

}  // namespace chasqui

#else

namespace chasqui {

ggml_backend_buffer_t alloc_kv_tensors(ggml_context* ctx, ggml_backend_buffer_type_t buft) {
    return ggml_backend_alloc_ctx_tensors_from_buft(ctx, buft);
}

void release_kv_cells(const ggml_tensor*, uint32_t, uint32_t, bool) {}

}  // namespace chasqui

#endif
