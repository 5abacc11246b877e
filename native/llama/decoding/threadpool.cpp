#include "threadpool.h"

#include "../../core/error-code.h"

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <llama.h>

namespace chasqui {

namespace {

// The CPU module is chosen at run time, so its functions are looked up rather than linked.
template <typename Function>
Function* cpu_function(const char* name) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return reinterpret_cast<Function*>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), name));
}

}  // namespace

void FreeThreadpool::operator()(ggml_threadpool* threadpool) const {
    cpu_function<decltype(ggml_threadpool_free)>("ggml_threadpool_free")(threadpool);
}

Threadpool attach_threadpool(llama_context* context, int32_t threads, uint32_t poll) {
    ggml_threadpool_params params = ggml_threadpool_params_default(threads);
    params.poll                   = poll;
    Threadpool threadpool(cpu_function<decltype(ggml_threadpool_new)>("ggml_threadpool_new")(&params));
    if (!threadpool) throw Error(ErrorCode::out_of_memory, "The compute threads could not be started.");
    llama_attach_threadpool(context, threadpool.get(), nullptr);
    return threadpool;
}

}  // namespace chasqui
