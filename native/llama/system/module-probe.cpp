#include "module-probe.h"

#include "log.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <memory>
#include <stdexcept>
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <filesystem>
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace chasqui {

namespace {

// A multiple of the block size of every quantised type, and several tiles of a matrix unit. The other sizes may be
// small.
constexpr int64_t kInner = 512;
constexpr int64_t kRows  = 64;
// One column uses the kernels for decoding, many those for prefill.
constexpr int64_t kColumns[] = {1, 32};
// The relative error that llama.cpp's own tests allow for a product.
constexpr double kTolerance = 5e-4;

struct FreeContext {
    void operator()(ggml_context* context) const { ggml_free(context); }
};
struct FreeBackend {
    void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
};
struct FreeBuffer {
    void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};
using Context = std::unique_ptr<ggml_context, FreeContext>;
using Backend = std::unique_ptr<ggml_backend, FreeBackend>;
using Buffer  = std::unique_ptr<ggml_backend_buffer, FreeBuffer>;

// Pseudorandom, equal on every machine.
std::vector<float> make_values(int64_t count, uint32_t seed) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
        seed  = seed * 1664525U + 1013904223U;
        value = static_cast<float>(seed >> 8U) / static_cast<float>(1U << 23U) - 1.0F;
    }
    return values;
}

struct Weights {
    ggml_type            type;
    std::vector<uint8_t> stored;
    std::vector<float>   values;  // `stored`, dequantised
};

Weights make_weights(ggml_type type) {
    Weights                  weights{type, std::vector<uint8_t>(ggml_row_size(type, kInner) * kRows), {}};
    const std::vector<float> exact = make_values(kInner * kRows, 1);
    ggml_quantize_chunk(type, exact.data(), weights.stored.data(), 0, kRows, kInner, nullptr);
    if (type == GGML_TYPE_F32) {
        weights.values = exact;
    } else {
        weights.values.resize(exact.size());
        ggml_get_type_traits(type)->to_float(weights.stored.data(), weights.values.data(), kInner * kRows);
    }
    return weights;
}

double relative_error(const Weights& weights, const std::vector<float>& inputs, const std::vector<float>& products) {
    double error = 0;
    double total = 0;
    for (size_t at = 0; at < products.size(); ++at) {
        const float* row    = &weights.values[at % kRows * kInner];
        const float* column = &inputs[at / kRows * kInner];
        double       exact  = 0;
        for (int64_t i = 0; i < kInner; ++i) exact += static_cast<double>(row[i]) * column[i];
        error += (products[at] - exact) * (products[at] - exact);
        total += exact * exact;
    }
    return error / total;
}

std::vector<float> multiply(ggml_backend* backend, ggml_backend_buffer_type_t storage, const Weights& weights,
                            const std::vector<float>& inputs, int64_t columns) {
    const ggml_init_params no_data{ggml_tensor_overhead() * 8 + ggml_graph_overhead(), nullptr, true};
    const Context          stored(ggml_init(no_data));
    const Context          computed(ggml_init(no_data));
    ggml_tensor*           a       = ggml_new_tensor_2d(stored.get(), weights.type, kInner, kRows);
    ggml_tensor*           b       = ggml_new_tensor_2d(computed.get(), GGML_TYPE_F32, kInner, columns);
    ggml_tensor*           product = ggml_mul_mat(computed.get(), a, b);

    const Buffer weight_buffer(ggml_backend_alloc_ctx_tensors_from_buft(stored.get(), storage));
    if (!weight_buffer) throw std::runtime_error("it could not allocate memory");
    ggml_backend_buffer_set_usage(weight_buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    // A device may not support all types; llama.cpp asks before it uses one as well.
    if (!ggml_backend_supports_op(backend, product)) return {};
    const Buffer buffer(ggml_backend_alloc_ctx_tensors(computed.get(), backend));
    if (!buffer) throw std::runtime_error("it could not allocate memory");
    ggml_backend_tensor_set(a, weights.stored.data(), 0, weights.stored.size());
    ggml_backend_tensor_set(b, inputs.data(), 0, ggml_nbytes(b));

    ggml_cgraph* graph = ggml_new_graph(computed.get());
    ggml_build_forward_expand(graph, product);
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) {
        throw std::runtime_error("it could not compute a matrix product: " + take_last_errors());
    }
    std::vector<float> products(static_cast<size_t>(ggml_nelements(product)));
    ggml_backend_tensor_get(product, products.data(), 0, ggml_nbytes(product));
    return products;
}

std::vector<ggml_backend_buffer_type_t> list_storages(ggml_backend_dev_t device) {
    std::vector<ggml_backend_buffer_type_t> storages{ggml_backend_dev_buffer_type(device)};
    auto* list_extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
    if (list_extra == nullptr) return storages;
    for (auto* extra = list_extra(device); extra != nullptr && *extra != nullptr; ++extra) storages.push_back(*extra);
    return storages;
}

void probe_device(ggml_backend_dev_t device, const std::function<void()>& on_step) {
    const Backend backend(ggml_backend_dev_init(device, nullptr));
    if (!backend) throw std::runtime_error("its device could not be started: " + take_last_errors());
    bool computed = false;
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K}) {
        const Weights weights = make_weights(type);
        for (ggml_backend_buffer_type_t storage : list_storages(device)) {
            for (const int64_t columns : kColumns) {
                const auto inputs   = make_values(kInner * columns, 2);
                const auto products = multiply(backend.get(), storage, weights, inputs, columns);
                if (products.empty()) continue;
                on_step();
                const double error = relative_error(weights, inputs, products);
                // Negated, because comparisons with NaN are false.
                if (!(error <= kTolerance)) {
                    throw std::runtime_error(std::string("it computed a wrong product of ") + ggml_type_name(type) +
                                             " weights in " + ggml_backend_buft_name(storage) +
                                             " (relative error " + std::to_string(error) + ")");
                }
                computed = true;
            }
        }
    }
    if (!computed) throw std::runtime_error("its device does not support matrix products");
}

DeviceInfo describe(ggml_backend_dev_t device) {
    static const char* const types[] = {"cpu", "gpu", "igpu", "accel"};
    DeviceInfo               info{ggml_backend_dev_name(device), ggml_backend_dev_description(device), "accel"};
    const auto               type = static_cast<size_t>(ggml_backend_dev_type(device));
    if (type < sizeof types / sizeof *types) info.type = types[type];
    size_t free  = 0;
    size_t total = 0;
    ggml_backend_dev_memory(device, &free, &total);
    info.memory_free  = free;
    info.memory_total = total;
    return info;
}

using Score = int (*)();

#ifdef _WIN32
Score load_score(const std::string& path) {
    const HMODULE handle = LoadLibraryW(std::filesystem::u8path(path).c_str());
    if (handle == nullptr) throw std::runtime_error("LoadLibrary failed with error " + std::to_string(GetLastError()));
    return reinterpret_cast<Score>(reinterpret_cast<void*>(GetProcAddress(handle, "ggml_backend_score")));
}
#else
Score load_score(const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Score>(dlsym(handle, "ggml_backend_score"));
}
#endif

}  // namespace

int score_module(const std::string& path) {
    const Score score = load_score(path);
    return score == nullptr ? 1 : score();
}

std::vector<DeviceInfo> probe_module(const std::string& path, const std::function<void()>& on_step) {
    capture_log(false);
    // ggml's loader does not log this reason, so the score is checked here.
    if (score_module(path) <= 0) throw std::runtime_error("this machine does not support it");
    ggml_backend_reg_t module = ggml_backend_load(path.c_str());
    if (module == nullptr) throw std::runtime_error("ggml refused it: " + take_last_errors());
    std::vector<DeviceInfo> devices;
    for (size_t at = 0; at < ggml_backend_reg_dev_count(module); ++at) {
        ggml_backend_dev_t device = ggml_backend_reg_dev_get(module, at);
        probe_device(device, on_step);
        devices.push_back(describe(device));
    }
    if (devices.empty()) {
        const std::string said = take_last_errors();
        throw std::runtime_error("it found no device on this machine" + (said.empty() ? said : ": " + said));
    }
    return devices;
}

}  // namespace chasqui
