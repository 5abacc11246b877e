// A CPU module with the highest score and the defect selected by FAULT. Apart from that it forwards to the module
// GOOD_MODULE.
#include <ggml-backend-impl.h>

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

enum { CRASH = 1, CRASH_IN_SCORE, HANG, WRONG };

namespace {

ggml_backend_dev_t (*g_get_device)(ggml_backend_reg_t, size_t);
ggml_backend_t (*g_init_backend)(ggml_backend_dev_t, const char*);
ggml_status (*g_graph_compute)(ggml_backend_t, ggml_cgraph*);

ggml_status compute_wrongly(ggml_backend_t backend, ggml_cgraph* graph) {
    const ggml_status status = g_graph_compute(backend, graph);
    ggml_tensor*      last   = ggml_graph_node(graph, -1);
    static_cast<float*>(last->data)[0] += 100.0F;
    return status;
}

ggml_backend_t init_backend(ggml_backend_dev_t device, const char* parameters) {
    ggml_backend_t backend       = g_init_backend(device, parameters);
    g_graph_compute              = backend->iface.graph_compute;
    backend->iface.graph_compute = compute_wrongly;
    return backend;
}

ggml_backend_dev_t get_device(ggml_backend_reg_t module, size_t index) {
    ggml_backend_dev_t device = g_get_device(module, index);
    if (device->iface.init_backend != init_backend) {
        g_init_backend             = device->iface.init_backend;
        device->iface.init_backend = init_backend;
    }
    return device;
}

}  // namespace

extern "C" int ggml_backend_score() {
    if (FAULT == CRASH_IN_SCORE) abort();
    return 1 << 20;
}

extern "C" ggml_backend_reg_t ggml_backend_init() {
    if (FAULT == CRASH) raise(SIGSEGV);
    while (FAULT == HANG) sleep(1);
    auto* init = reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(dlopen(GOOD_MODULE, RTLD_NOW), "ggml_backend_init"));
    ggml_backend_reg_t module = init();
    g_get_device              = module->iface.get_device;
    module->iface.get_device  = get_device;
    return module;
}
