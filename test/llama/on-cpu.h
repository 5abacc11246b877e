// ggml's CPU backend for tests of its operations.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <memory>
#include <string>
#include <type_traits>

namespace chasqui::test {

struct FreeInGgml {
    void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
    void operator()(ggml_context* context) const { ggml_free(context); }
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, FreeInGgml>;

// With the module that fits this CPU best.
inline ggml_backend_t cpu() {
    static const Owned<ggml_backend_t> backend = [] {
        ggml_backend_load_all();
        return Owned<ggml_backend_t>(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    }();
    return backend.get();
}

inline void set_threads(int n_threads) {
    const ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(cpu()));
    auto* const set = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"));
    set(cpu(), n_threads);
}

// By ggml's name of the feature.
inline bool cpu_has(const std::string& name) {
    const ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(cpu()));
    auto* const              features = reinterpret_cast<ggml_backend_get_features_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_get_features"));
    for (const ggml_backend_feature* feature = features(registry); feature->name != nullptr; ++feature) {
        if (name == feature->name) return true;
    }
    return false;
}

// The floats in a vector of native/kernels, or 0 on CPUs without kernels.
inline int floats_of_a_vector() {
    if (cpu_has("AVX512")) return 16;
    return cpu_has("AVX2") && cpu_has("FMA") && cpu_has("F16C") ? 8 : 0;
}

// Whether products are computed by panels of rows.
inline bool cpu_has_panels() { return floats_of_a_vector() > 0; }

}  // namespace chasqui::test
