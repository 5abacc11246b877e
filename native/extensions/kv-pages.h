// Thread: the engine's. Memory of KV cells that is committed when cells are written: patch 0011 calls this.
#pragma once

#include <ggml-backend.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace chasqui {

// Allocates the tensors of `ctx`. In main memory under Linux, pages read as zeros and are committed when they are
// written.
ggml_backend_buffer_t alloc_kv_tensors(ggml_context* ctx, ggml_backend_buffer_type_t buft);

// The cells [begin, end) of a stream's tensor, or all of it if begin is 0; `transposed`: a row has all cells of one
// channel.
void release_kv_cells(const ggml_tensor* tensor, uint32_t begin, uint32_t end, bool transposed);

// Releases the cells that lie beyond the last used one when it is destroyed and did not when it was created. It
// releases blocks of 256 cells, so that pages are not released and committed again for each rejected draft.
template <class Streams, class Layers>
class KvRelease {
public:
    KvRelease(const Streams& streams, const Layers& layers, bool v_transposed)
        : streams_(streams), layers_(layers), v_transposed_(v_transposed) {
        for (const auto& cells : streams) ends_.push_back(end_of_used(cells));
    }

    ~KvRelease() {
        for (size_t s = 0; s < ends_.size(); ++s) {
            const uint32_t begin = end_of_used(streams_[s]);
            if (begin >= ends_[s]) continue;
            for (const auto& layer : layers_) {
                release_kv_cells(layer.k_stream[s], begin, ends_[s], false);
                release_kv_cells(layer.v_stream[s], begin, ends_[s], v_transposed_);
            }
        }
    }

    KvRelease(const KvRelease&)            = delete;
    KvRelease& operator=(const KvRelease&) = delete;

private:
    template <class Cells>
    static uint32_t end_of_used(const Cells& cells) {
        return std::min(cells.size(), (cells.used_max_p1() + 255) / 256 * 256);
    }

    const Streams&        streams_;
    const Layers&         layers_;
    const bool            v_transposed_;
    std::vector<uint32_t> ends_;
};

}  // namespace chasqui
