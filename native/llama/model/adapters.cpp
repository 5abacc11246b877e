#include "adapters.h"

#include "../../core/error-code.h"
#include "../system/log.h"

#include <ggml.h>
#include <gguf.h>
#include <llama.h>

#include <cmath>
#include <map>
#include <utility>

// Declared in llama.cpp's src/llama-model.h, which is not a public header.
const std::vector<std::pair<std::string, ggml_tensor*>>& llama_internal_get_tensor_map(const llama_model* model);

namespace chasqui {

namespace {

using GgufFile  = std::unique_ptr<gguf_context, void (*)(gguf_context*)>;
using GgmlArena = std::unique_ptr<ggml_context, void (*)(ggml_context*)>;

struct Pair {
    const ggml_tensor* a = nullptr;
    const ggml_tensor* b = nullptr;
};

// Validates an adapter's file. llama.cpp aborts if a key has another type than expected, and if matrices cannot be
// multiplied, which it detects only with the first batch.
class AdapterFile {
public:
    AdapterFile(const Model& model, const std::string& path) : model_(model), path_(path) {}

    void check() {
        check_gguf_file(path_, "lora");
        take_last_errors();
        ggml_context*          tensors = nullptr;
        const gguf_init_params params{/*no_alloc=*/true, /*ctx=*/&tensors};
        const GgufFile         file(gguf_init_from_file(path_.c_str(), params), gguf_free);
        const GgmlArena        arena(tensors, ggml_free);
        if (!file) refuse("is incomplete or damaged; download it again. llama.cpp says: " + take_last_errors());
        check_keys(file.get());
        check_tensors(tensors);
    }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw Error(ErrorCode::model_file_invalid, path_ + " " + why);
    }

    [[noreturn]] void refuse_for_model(const std::string& why) const {
        throw Error(ErrorCode::model_load_failed, path_ + " is not an adapter of " + model_.path() + ": " +
                                                      shortened(why) +
                                                      " Use it with the model that it was trained on.");
    }

    std::string text(const gguf_context* file, const char* key) const {
        const int64_t id = gguf_find_key(file, key);
        if (id < 0) return "";
        if (gguf_get_kv_type(file, id) != GGUF_TYPE_STRING)
            refuse("is damaged: " + std::string(key) + " is not a string.");
        return gguf_get_val_str(file, id);
    }

    void check_keys(const gguf_context* file) const {
        if (text(file, "general.type") != "adapter" || text(file, "adapter.type") != "lora") {
            refuse("is not a LoRA adapter. Convert a trained adapter with llama.cpp's convert_lora_to_gguf.py.");
        }
        const std::string architecture = text(file, "general.architecture"), wanted = model_.architecture();
        if (architecture != wanted) {
            refuse_for_model("it is for a model of the architecture `" + shortened(architecture) + "`, not `" + wanted +
                             "`.");
        }
        const int64_t alpha = gguf_find_key(file, "adapter.lora.alpha");
        if (alpha >= 0 && (gguf_get_kv_type(file, alpha) != GGUF_TYPE_FLOAT32 ||
                           !std::isfinite(gguf_get_val_f32(file, alpha)))) {
            refuse("is damaged: adapter.lora.alpha is not a number.");
        }
        if (gguf_find_key(file, "adapter.alora.invocation_tokens") >= 0) {
            refuse("is an activated LoRA (active from the middle of a prompt), which is not supported.");
        }
    }

    void check_tensors(ggml_context* tensors) const {
        std::map<std::string, Pair> pairs;
        for (const ggml_tensor* each = ggml_get_first_tensor(tensors); each != nullptr;
             each                    = ggml_get_next_tensor(tensors, const_cast<ggml_tensor*>(each))) {
            add(pairs, each);
        }
        if (pairs.empty()) refuse("has no weights.");
        std::map<std::string, const ggml_tensor*> weights;
        for (const auto& [name, tensor] : llama_internal_get_tensor_map(model_.handle())) weights[name] = tensor;
        for (const auto& [name, pair] : pairs) {
            const auto weight = weights.find(name);
            if (weight == weights.end())
                refuse_for_model("it changes `" + shortened(name) + "`, which the model does not have.");
            check_pair(name, pair, *weight->second, weights.count("output.weight") > 0);
        }
    }

    void add(std::map<std::string, Pair>& pairs, const ggml_tensor* tensor) const {
        const std::string name = tensor->name;
        // llama.cpp ignores norms.
        const std::string norm = "_norm.weight";
        if (name.size() >= norm.size() && name.compare(name.size() - norm.size(), norm.size(), norm) == 0) return;
        const size_t      dot    = name.rfind(".lora_");
        const std::string suffix = dot == std::string::npos ? "" : name.substr(dot);
        if ((suffix != ".lora_a" && suffix != ".lora_b") || name.find(".lora_") != dot) {
            refuse("is damaged: it has a tensor with the name `" + shortened(name) + "`.");
        }
        Pair& pair = pairs[name.substr(0, dot)];
        (suffix == ".lora_a" ? pair.a : pair.b) = tensor;
    }

    void check_pair(const std::string& name, const Pair& pair, const ggml_tensor& weight, bool has_output) const {
        if (pair.a == nullptr || pair.b == nullptr)
            refuse("is damaged: one half of `" + shortened(name) + "` is missing.");
        for (const ggml_tensor* half : {pair.a, pair.b}) {
            const bool known = half->type == GGML_TYPE_F32 || half->type == GGML_TYPE_F16 ||
                               half->type == GGML_TYPE_BF16 || half->type == GGML_TYPE_Q8_0;
            if (!known) refuse("has weights of the type " + std::string(ggml_type_name(half->type)) +
                               "; F32, F16, BF16 and Q8_0 are supported.");
        }
        if (weight.type == GGML_TYPE_NVFP4) refuse_for_model("weights of the type NVFP4 take no adapters.");
        const bool is_embedding = name == "token_embd.weight";
        // Such a model uses the same tensor as its output matrix, where llama.cpp would apply the factors in the wrong
        // order.
        if (is_embedding && !has_output) refuse_for_model("the model's embeddings are its output matrix as well.");
        const int64_t* a = pair.a->ne;
        const int64_t* b = pair.b->ne;
        // The factors of embeddings are transposed.
        const bool fits = is_embedding ? b[1] == weight.ne[0] && a[1] == weight.ne[1] && a[0] == b[0]
                                       : a[0] == weight.ne[0] && b[1] == weight.ne[1] && a[1] == b[0];
        const bool is_deep_alike = a[2] == weight.ne[2] && b[2] == weight.ne[2] && a[3] == 1 && b[3] == 1;
        if (!fits || !is_deep_alike || b[0] < 1) {
            refuse_for_model("`" + shortened(name) + "` has another size than the model's.");
        }
    }

    const Model&       model_;
    const std::string& path_;
};

}  // namespace

void Adapters::Free::operator()(llama_adapter_lora* adapter) const { llama_adapter_lora_free(adapter); }

Adapters::Adapters(const Model& model, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        AdapterFile(model, path).check();
        adapters_.emplace_back(llama_adapter_lora_init(model.handle(), path.c_str()));
        if (adapters_.back()) continue;
        const std::string said = take_last_errors();
        throw Error(failure_code(said), "llama.cpp could not load " + path + ": " + said);
    }
}

void Adapters::apply(llama_context* context, const AdapterSet& set) const {
    std::vector<llama_adapter_lora*> adapters;
    std::vector<float>               scales;
    for (const AdapterUse& use : set) {
        if (use.adapter >= adapters_.size()) throw Error(ErrorCode::invalid_job, "There is no such adapter.");
        adapters.push_back(adapters_[use.adapter].get());
        scales.push_back(use.scale);
    }
    // No effect if they are unchanged.
    llama_set_adapters_lora(context, adapters.data(), adapters.size(), scales.data());
}

}  // namespace chasqui
