// Thread: that of the context it is attached to.
#pragma once

#include <cstdint>
#include <memory>

struct ggml_threadpool;
struct llama_context;

namespace chasqui {

struct FreeThreadpool {
    void operator()(ggml_threadpool* threadpool) const;
};
using Threadpool = std::unique_ptr<ggml_threadpool, FreeThreadpool>;

// Without one, ggml would start and join threads for every graph. It must outlive the context. `poll`: 0 (threads sleep
// at once) to 100. Throws `out_of_memory`.
Threadpool attach_threadpool(llama_context* context, int32_t threads, uint32_t poll);

}  // namespace chasqui
