// Measures matrix products of weights and activations by ggml's CPU backend, without a model.
//
//   products <modules> <n_threads>
//
// Each line of standard input runs one round: "<type> <rows> <row length> <tokens> <bytes of weights>", for example
// "q4_K 4864 896 1 300000000". The round multiplies as many separate matrices of that shape as fill the given size, one after
// the other, and prints one JSON line: seconds, bytes of weights and multiplications.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxMatrices = 4096;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "products: %s\n", what.c_str());
    std::exit(1);
}

struct FreeInGgml {
    void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
    void operator()(ggml_context* context) const { ggml_free(context); }
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, FreeInGgml>;

struct Shape {
    std::string type;
    int64_t     rows = 0, length = 0, tokens = 0, bytes = 0;

    auto key() const { return std::tie(type, rows, length, tokens, bytes); }
    bool operator<(const Shape& other) const { return key() < other.key(); }
};

ggml_type type_named(const std::string& name) {
    for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
        const char* known = ggml_type_name(static_cast<ggml_type>(type));
        if (known != nullptr && name == known) return static_cast<ggml_type>(type);
    }
    fail("no type is called " + name);
}

std::vector<float> random_values(int64_t n) {
    std::mt19937                    random(1);
    std::normal_distribution<float> normal;
    std::vector<float>              values(static_cast<size_t>(n));
    for (float& value : values) value = normal(random);
    return values;
}

// The matrices of one shape and their compute graph, which can be computed repeatedly.
class Products {
  public:
    Products(const Shape& shape, ggml_backend_t backend) : backend_(backend) {
        const ggml_type type   = type_named(shape.type);
        const int64_t   matrix = static_cast<int64_t>(ggml_row_size(type, shape.length)) * shape.rows;
        const size_t    n = std::clamp<size_t>(static_cast<size_t>(shape.bytes / matrix), 1, kMaxMatrices);
        context_.reset(ggml_init({(2 * n + 2) * ggml_tensor_overhead() + ggml_graph_overhead_custom(2 * n + 2, false),
                                  nullptr, true}));
        graph_ = ggml_new_graph_custom(context_.get(), 2 * n + 2, false);
        ggml_tensor* const columns = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, shape.length, shape.tokens);
        std::vector<ggml_tensor*> all;
        for (size_t i = 0; i < n; ++i) {
            all.push_back(ggml_new_tensor_2d(context_.get(), type, shape.length, shape.rows));
            ggml_build_forward_expand(graph_, ggml_mul_mat(context_.get(), all.back(), columns));
        }
        buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend));
        if (!buffer_) fail("there is not enough memory");
        const std::vector<float> values = random_values(shape.length * std::max(shape.rows, shape.tokens));
        std::vector<uint8_t>     weights(static_cast<size_t>(matrix));
        ggml_quantize_chunk(type, values.data(), weights.data(), 0, shape.rows, shape.length, nullptr);
        for (ggml_tensor* tensor : all) ggml_backend_tensor_set(tensor, weights.data(), 0, weights.size());
        ggml_backend_tensor_set(columns, values.data(), 0, ggml_nbytes(columns));
        bytes_    = static_cast<int64_t>(n) * matrix;
        products_ = static_cast<int64_t>(n) * shape.rows * shape.length * shape.tokens;
    }

    void run() const {
        const auto start = Clock::now();
        if (ggml_backend_graph_compute(backend_, graph_) != GGML_STATUS_SUCCESS) fail("the products fail");
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        std::printf("{\"seconds\":%.6f,\"bytes\":%lld,\"products\":%lld}\n", seconds, static_cast<long long>(bytes_),
                    static_cast<long long>(products_));
        std::fflush(stdout);
    }

  private:
    ggml_backend_t               backend_;
    Owned<ggml_context*>         context_;
    Owned<ggml_backend_buffer_t> buffer_;
    ggml_cgraph*                 graph_    = nullptr;
    int64_t                      bytes_    = 0;
    int64_t                      products_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const int n_threads = argc == 3 ? std::atoi(argv[2]) : 0;
    if (n_threads < 1) fail("usage: products <modules> <n_threads>");
    ggml_backend_load_all_from_path(argv[1]);
    const Owned<ggml_backend_t> backend(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    if (!backend) fail(std::string("no module fits in ") + argv[1]);
    const ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend.get()));
    reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"))(backend.get(), n_threads);

    std::map<Shape, std::unique_ptr<Products>> known;
    std::string                                line;
    while (std::getline(std::cin, line)) {
        Shape              shape;
        std::istringstream words(line);
        if (!(words >> shape.type >> shape.rows >> shape.length >> shape.tokens >> shape.bytes)) fail("not a shape: " + line);
        auto& products = known[shape];
        if (!products) products = std::make_unique<Products>(shape, backend.get());
        products->run();
    }
}
