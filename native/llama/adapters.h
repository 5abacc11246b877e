// Thread: the constructor on the loading thread; apply() on the engine thread.
#pragma once

#include "../core/adapter-set.h"
#include "model.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct llama_adapter_lora;
struct llama_context;

namespace chasqui {

// The adapters (LoRA) of a model: small matrices that are added to its weights while a batch is computed.
class Adapters {
public:
    // Throws `model_file_missing`, `model_file_invalid`, or `model_load_failed` for an adapter of another model. Must be
    // loaded before any context of the model is made: llama.cpp sizes its graphs by the adapters that are there.
    Adapters(const Model& model, const std::vector<std::string>& paths);

    size_t size() const { return adapters_.size(); }
    // From now on the context computes with these and no others. Throws `invalid_job` for one that is not there.
    void apply(llama_context* context, const AdapterSet& set) const;

private:
    struct Free {
        void operator()(llama_adapter_lora* adapter) const;
    };

    std::vector<std::unique_ptr<llama_adapter_lora, Free>> adapters_;
};

}  // namespace chasqui
