// Products of the same columns, which are computed where the first of them is in the graph.
#include "product.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace chasqui::test;

namespace {

struct FreeAllocator {
    void operator()(ggml_gallocr_t allocator) const { ggml_gallocr_free(allocator); }
};

constexpr int64_t k = 896;

struct Weights {
    ggml_type            type;
    int64_t              m;
    std::vector<uint8_t> rows;

    Weights(ggml_type format, int64_t n_rows, std::mt19937& random)
        : type(format), m(n_rows), rows(ggml_row_size(type, k) * static_cast<size_t>(m)) {
        std::normal_distribution<float> normal;
        std::vector<float>              values(static_cast<size_t>(m * k));
        for (float& value : values) value = normal(random);
        ggml_quantize_chunk(type, values.data(), rows.data(), 0, m, k, nullptr);
    }
};

// A graph of products, with another operation behind the first one, as a model has it between query, key and value. Memory is
// reused as soon as nothing needs what is there.
class Graph {
  public:
    explicit Graph(const std::vector<Weights>& weights, int64_t n)
        : inputs_(ggml_init({1 << 20, nullptr, true})), context_(ggml_init({1 << 20, nullptr, true})) {
        columns_ = ggml_new_tensor_2d(inputs_.get(), GGML_TYPE_F32, k, n);
        std::vector<ggml_tensor*> matrices;
        for (const Weights& each : weights) {
            matrices.push_back(ggml_new_tensor_2d(inputs_.get(), each.type, k, each.m));
        }
        buffer_.reset(ggml_backend_alloc_ctx_tensors(inputs_.get(), cpu()));
        for (size_t i = 0; i < weights.size(); ++i) {
            ggml_backend_tensor_set(matrices[i], weights[i].rows.data(), 0, weights[i].rows.size());
        }
        graph_ = ggml_new_graph(context_.get());
        for (ggml_tensor* matrix : matrices) products_.push_back(ggml_mul_mat(context_.get(), matrix, columns_));
        sums_ = ggml_sum_rows(context_.get(), products_[0]);
        ggml_set_output(sums_);
        ggml_build_forward_expand(graph_, sums_);
        for (size_t i = 1; i < products_.size(); ++i) {
            ggml_set_output(products_[i]);
            ggml_build_forward_expand(graph_, products_[i]);
        }
        allocator_.reset(ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu())));
        expect(ggml_gallocr_alloc_graph(allocator_.get(), graph_), "memory for the graph");
    }

    void compute(const std::vector<float>& columns) const {
        ggml_backend_tensor_set(columns_, columns.data(), 0, ggml_nbytes(columns_));
        expect(ggml_backend_graph_compute(cpu(), graph_) == GGML_STATUS_SUCCESS, "a graph");
    }

    std::vector<float> sums() const { return values_of(sums_); }
    std::vector<float> product(size_t i) const { return values_of(products_[i]); }

    // Whether a later product is where the first one was.
    bool reuses_memory() const {
        const auto* const first = static_cast<const char*>(products_[0]->data);
        for (size_t i = 1; i < products_.size(); ++i) {
            const auto* const later = static_cast<const char*>(products_[i]->data);
            if (later < first + ggml_nbytes(products_[0]) && first < later + ggml_nbytes(products_[i])) return true;
        }
        return false;
    }

  private:
    static std::vector<float> values_of(const ggml_tensor* tensor) {
        std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
        ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
        return values;
    }

    Owned<ggml_context*>                                          inputs_, context_;
    Owned<ggml_backend_buffer_t>                                  buffer_;
    std::unique_ptr<std::remove_pointer_t<ggml_gallocr_t>, FreeAllocator> allocator_;
    ggml_cgraph*                                                  graph_   = nullptr;
    ggml_tensor*                                                  columns_ = nullptr;
    ggml_tensor*                                                  sums_    = nullptr;
    std::vector<ggml_tensor*>                                     products_;
};

// Returns whether memory was reused.
bool check(const std::vector<Weights>& weights, int64_t n, int n_threads, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<float>              columns(static_cast<size_t>(n * k));
    for (float& value : columns) value = normal(random);
    const std::string what = std::to_string(n) + " columns, " + std::to_string(n_threads) + " threads: ";

    const Graph graph(weights, n);
    set_threads(n_threads);
    graph.compute(columns);
    for (size_t i = 1; i < weights.size(); ++i) {
        const Product alone{weights[i].type, weights[i].m, n, k, n_threads};
        expect(graph.product(i) == product_of(alone, weights[i].rows, columns),
               what + "product " + std::to_string(i) + " has the bits that it has alone");
    }
    const Product            first{weights[0].type, weights[0].m, n, k, n_threads};
    const std::vector<float> values = product_of(first, weights[0].rows, columns);
    const std::vector<float> sums   = graph.sums();
    for (size_t j = 0; j < static_cast<size_t>(n); ++j) {
        double sum = 0;
        for (size_t i = 0; i < static_cast<size_t>(first.m); ++i) {
            sum += static_cast<double>(values[j * static_cast<size_t>(first.m) + i]);
        }
        expect(std::abs(sum - static_cast<double>(sums[j])) < 0.01, what + "the first product was read before it went");
    }
    return graph.reuses_memory();
}

const Test together("ggml: products of the same columns are what each of them is alone", [] {
    std::mt19937 random(1);
    // Equal and different types, smaller and larger than the first, and more than one batch holds.
    const std::vector<Weights> weights{{GGML_TYPE_Q5_0, 80, random}, {GGML_TYPE_Q5_0, 37, random},
                                       {GGML_TYPE_Q8_0, 48, random}, {GGML_TYPE_Q5_0, 160, random},
                                       {GGML_TYPE_Q8_0, 16, random}, {GGML_TYPE_Q5_0, 16, random},
                                       {GGML_TYPE_Q5_0, 16, random}, {GGML_TYPE_Q5_0, 17, random}};
    bool reused = false;
    for (const int64_t n : {1, 3, 8, 16, 17, 48}) {
        for (const int n_threads : {1, 2, 3}) reused |= check(weights, n, n_threads, random);
    }
    expect(reused, "a product whose memory belongs to the first until that has been read");
});

}  // namespace
