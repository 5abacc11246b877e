// Thread: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct ggml_backend_device;
struct llama_model_params;

namespace chasqui {

// How a model's file is read.
struct FileOptions {
    bool mmap   = true;   // the file is mapped into memory where the devices allow that
    bool mlock  = false;  // and may not be swapped out
    bool repack = true;   // weights are stored anew as the CPU computes fastest with them
    bool vocabulary_only = false;  // no weights are read
    bool mtp             = false;  // the weights of MTP layers are read as well
    // Values that go before those in the file, as llama.cpp writes them: key=type:value.
    std::vector<std::string> metadata;
};

// Which devices a model's weights are on. By default all of them are on all GPUs.
struct OffloadOptions {
    enum class Split { none, layer, row };
    // Weights on another device than the rest of their layer.
    struct Override {
        std::string tensors;  // a regular expression for their names
        std::string device;   // empty: main memory
    };

    std::optional<std::vector<std::string>> devices;  // by ggml's names; absent: every GPU; empty: none
    std::optional<int32_t>                  gpu_layers;  // the last ones, the output counted as one; absent: all
    Split                                   split = Split::layer;
    std::optional<int32_t>                  main_gpu;  // index of the device that Split::none uses; absent: the first
    std::vector<float>                      tensor_split;  // each device's share; empty: by its free memory
    std::vector<Override>                   overrides;
    FileOptions                             file;
};

// The devices that the options name, and the parameters with which llama.cpp uses them.
class Offload {
public:
    // Only after load_backends(). Throws `invalid_options` for devices that do not exist and for what they cannot do.
    explicit Offload(const OffloadOptions& options);
    ~Offload();
    Offload(const Offload&)            = delete;
    Offload& operator=(const Offload&) = delete;

    // The parameters point into this object, which must outlive the model.
    void apply(llama_model_params& params) const;

    const OffloadOptions& options() const { return options_; }
    // For the draft model: all of it on the same devices.
    OffloadOptions                           for_draft_model() const;
    const std::vector<ggml_backend_device*>& devices() const { return devices_; }
    std::vector<std::string>                 device_names() const;
    // The device for what cannot be split; nullptr: the CPU.
    ggml_backend_device* main_device() const;

private:
    struct Arrays;

    OffloadOptions                    options_;
    std::vector<ggml_backend_device*> devices_;
    std::unique_ptr<Arrays>           arrays_;  // what the parameters point to
};

}  // namespace chasqui
