// Thread: the constructor on the loading thread; apply() on the engine thread.
#pragma once

#include "../../core/adapter-set.h"
#include "model.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct llama_adapter_lora;
struct llama_context;

namespace chasqui {

class Adapters {
public:
    // Throws `model_file_missing`, `model_file_invalid`, or `model_load_failed` for an adapter of another model. Must
    // precede the creation of contexts: llama.cpp sizes its graphs by the loaded adapters.
    Adapters(const Model& model, const std::vector<std::string>& paths);

    size_t size() const { return adapters_.size(); }
    // Replaces the adapters of the context. Throws `invalid_job` for an unknown adapter.
    void apply(llama_context* context, const AdapterSet& set) const;

private:
    struct Free {
        void operator()(llama_adapter_lora* adapter) const;
    };

    std::vector<std::unique_ptr<llama_adapter_lora, Free>> adapters_;
};

}  // namespace chasqui
