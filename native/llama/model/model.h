// Thread: any; immutable once loaded.
#pragma once

#include "../../core/job.h"
#include "offload.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

struct llama_model;
struct llama_vocab;

namespace chasqui {

// Throws `model_file_missing` or `model_file_invalid` unless `path` is a GGUF file. The message begins with the option
// that names it, unless it is the model.
void check_gguf_file(const std::string& path, const char* option = nullptr);

// A loaded GGUF file: weights and vocabulary.
class Model {
public:
    // Progress from 0 to 1; returning false aborts the load.
    using Progress = std::function<bool(float)>;

    // Throws `model_file_missing`, `model_file_invalid`, `model_load_failed`, `invalid_options` for its offload, or
    // `engine_closed` if aborted.
    Model(const std::string& path, const OffloadOptions& offload, const Progress& progress);

    llama_model*       handle() const { return model_.get(); }
    const llama_vocab* vocab() const { return vocab_; }

    const std::string& path() const { return path_; }
    std::string        description() const;
    std::string        architecture() const;
    uint64_t           size_bytes() const;
    uint64_t           parameter_count() const;
    int32_t            vocabulary_size() const;
    int32_t            trained_context_length() const;
    bool               has_chat_template() const;
    // The value of the architecture's key with this suffix (`.pooling_type`), as text; empty if missing.
    std::string metadata(const std::string& suffix) const;
    // Whether tokens attend only to earlier ones.
    bool is_causal() const { return metadata(".attention.causal") != "false"; }
    // Whether layers have a recurrent state per sequence instead of KV cells.
    bool has_recurrent_state() const;
    // Whether the file has weights that score a text.
    bool has_ranking_head() const;
    // For example `Q4_K - Medium`.
    std::string quantization() const;
    // llama.cpp's enum value of the tokenizer type.
    int32_t     vocabulary_type() const;
    int32_t     embedding_length() const;
    const Offload& offload() const { return offload_; }
    // Including the output layer.
    int32_t        layer_count() const;
    int32_t        offloaded_layers() const;
    // Whether the output layer, which is computed last, is on an asynchronous device.
    bool           computes_asynchronously() const;

private:
    struct Free {
        void operator()(llama_model* model) const;
    };

    std::string                        path_;
    Offload                            offload_;
    std::unique_ptr<llama_model, Free> model_;
    const llama_vocab*                 vocab_ = nullptr;
};

}  // namespace chasqui
