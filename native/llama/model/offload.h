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

// How a model's file is loaded.
struct FileOptions {
    bool mmap            = true;   // memory-mapped if the devices support it
    bool mlock           = false;  // locked in memory
    bool repack          = true;   // weights are converted to the CPU's fastest layout
    bool vocabulary_only = false;  // no weights
    bool mtp             = false;  // includes the weights of MTP layers
    // Overrides of the file's metadata, in llama.cpp's format: key=type:value.
    std::vector<std::string> metadata;

    // As in RopeSettings.
    template <typename Read>
    void read(const Read& read) {
        read("mmap", mmap);
        read("mlock", mlock);
        read("repack", repack);
        read("overrideKv", metadata);
    }
};

// The devices for a model's weights. Default: all weights on all GPUs.
struct OffloadOptions {
    enum class Split { none, layer, row };
    // Weights on another device than the rest of their layer.
    struct Override {
        std::string tensors;  // a regular expression for their names
        std::string device;   // empty: main memory
    };

    std::optional<std::vector<std::string>> devices;     // names in ggml; nullopt: every GPU; empty: none
    std::optional<int32_t>                  gpu_layers;  // the last ones, including the output layer; nullopt: all
    Split                                   split = Split::layer;
    std::optional<int32_t>                  main_gpu;      // index of the device for Split::none; nullopt: the first
    std::vector<float>                      tensor_split;  // each device's share; empty: by free memory
    std::vector<Override>                   overrides;
    std::optional<std::vector<std::string>> draft_devices;     // of the draft model; nullopt: as for the model
    std::optional<int32_t>                  draft_gpu_layers;  // nullopt: all
    FileOptions                             file;
};

// Returns the GPU with ggml's name. Throws `invalid_options`.
ggml_backend_device* find_gpu(const std::string& name);

// The devices of the options, and the resulting parameters for llama.cpp.
class Offload {
public:
    // Only after load_backends(). Throws `invalid_options` for unknown devices and unsupported settings.
    explicit Offload(const OffloadOptions& options);
    ~Offload();
    Offload(const Offload&)            = delete;
    Offload& operator=(const Offload&) = delete;

    // The parameters point into this object, which must outlive the model.
    void apply(llama_model_params& params) const;

    const OffloadOptions& options() const { return options_; }
    OffloadOptions                           for_draft_model() const;
    const std::vector<ggml_backend_device*>& devices() const { return devices_; }
    std::vector<std::string>                 device_names() const;
    // The device for what cannot be split; nullptr: the CPU.
    ggml_backend_device* main_device() const;

private:
    struct Arrays;

    OffloadOptions                    options_;
    std::vector<ggml_backend_device*> devices_;
    std::unique_ptr<Arrays>           arrays_;  // the data that the parameters point to
};

}  // namespace chasqui
