// Writes a small model with random weights of any architecture that llama.cpp knows, for test/support/architecture-sweep.ts.
//
//   random-architectures                                       lists architectures: "<name> <dense or moe>" a line
//   random-architectures <name> <dense or moe> <file.gguf>     writes a model; the exit code is not 0 if llama.cpp cannot make it
//
// The metadata are those of llama.cpp's own test, which is compiled as it is. They name the tokenizer "test", which maps each
// five characters to a token.
#define main main_of_llama_cpp
#include <tests/test-llama-archs.cpp>
#undef main

#include <algorithm>
#include <iostream>
#include <memory>

namespace {

// Longer than in llama.cpp's test, so that texts are longer than the window, which stays.
constexpr uint32_t kContextLength = 512;
constexpr size_t   kMaxWeights    = size_t{1} << 30;  // bytes

struct FreeContext {
    void operator()(ggml_context* context) const { ggml_free(context); }
};

struct ModelFile {
    gguf_context_ptr                           content{gguf_init_empty()};
    std::unique_ptr<ggml_context, FreeContext> weights{ggml_init({kMaxWeights, nullptr, false})};
};

struct Distribution {
    float mean, deviation;
};

// Matrices keep the size of the vectors that they are applied to. Queries and keys are large, so that a token attends to few
// others: the mean of many is so small that norms behind it would magnify its rounding. Time steps of states are small, so that
// these remember hundreds of tokens.
Distribution distribution_of(const ggml_tensor& tensor) {
    const std::string name      = tensor.name;
    const auto        has       = [&](const char* part) { return name.find(part) != std::string::npos; };
    const bool        is_vector = tensor.ne[1] == 1 && tensor.ne[2] == 1;
    const float       keeping   = 1 / std::sqrt(static_cast<float>(tensor.ne[0]));
    if (has("ssm_a")) return {-1, 0.2f};
    if (has("ssm_dt.bias")) return {-4, 0.2f};
    if (has("norm") && has(".weight")) return {1, 0.1f};
    if (is_vector) return {0, 0.1f};
    if (has("token_embd")) return {0, 0.3f};
    if (has("attn_q.") || has("attn_k.")) return {0, 2 * keeping};
    return {0, keeping};
}

void fill(ggml_tensor& tensor) {
    const auto [mean, deviation] = distribution_of(tensor);
    std::mt19937                    random(static_cast<uint32_t>(std::hash<std::string>{}(tensor.name)));
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float>              values(static_cast<size_t>(ggml_nelements(&tensor)));
    for (float& value : values) value = normal(random);
    const auto n = static_cast<int64_t>(values.size());
    if (tensor.type == GGML_TYPE_F32) std::copy(values.begin(), values.end(), static_cast<float*>(tensor.data));
    else if (tensor.type == GGML_TYPE_F16) ggml_fp32_to_fp16_row(values.data(), static_cast<ggml_fp16_t*>(tensor.data), n);
    else throw std::runtime_error(std::string("no random numbers of the type ") + ggml_type_name(tensor.type));
}

// Called by llama.cpp for each tensor, twice for one that it duplicates.
void add_weights(ggml_tensor* tensor, void* of) {
    ModelFile& file = *static_cast<ModelFile*>(of);
    if (gguf_find_tensor(file.content.get(), tensor->name) < 0) {
        ggml_tensor* const copy = ggml_dup_tensor(file.weights.get(), tensor);
        ggml_set_name(copy, tensor->name);
        fill(*copy);
        gguf_add_tensor(file.content.get(), copy);
    }
    const ggml_tensor* const same = ggml_get_tensor(file.weights.get(), tensor->name);
    ggml_backend_tensor_set(tensor, same->data, 0, ggml_nbytes(tensor));
}

int write(const std::string& name, bool is_moe, const char* path) {
    const llm_arch         architecture = llm_arch_from_string(name);
    const gguf_context_ptr metadata     = get_gguf_ctx(architecture, is_moe);
    gguf_set_val_u32(metadata.get(), (name + ".context_length").c_str(), kContextLength);
    ModelFile file;
    gguf_set_kv(file.content.get(), metadata.get());
    const llama_model_ptr model(
        llama_model_init_from_user(metadata.get(), add_weights, &file, llama_model_default_params()));
    return model && gguf_write_to_file(file.content.get(), path, false) ? 0 : 1;
}

void list() {
    std::vector<std::string> lines;
    for (const llm_arch architecture : llm_arch_all()) {
        const std::string name = llm_arch_name(architecture);
        if (architecture == LLM_ARCH_UNKNOWN) continue;
        if (!moe_mandatory(architecture)) lines.push_back(name + " dense");
        if (moe_implemented(architecture)) lines.push_back(name + " moe");
    }
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) std::cout << line << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    ggml_backend_load_all();
    try {
        if (argc == 4) return write(argv[1], std::string(argv[2]) == "moe", argv[3]);
        list();
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
