#include "offload.h"

#include "../../core/error-code.h"

#include <common.h>
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <regex>

namespace chasqui {

namespace {

using Devices = std::vector<ggml_backend_dev_t>;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_options, message); }

Devices devices_of_type(enum ggml_backend_dev_type type) {
    Devices devices;
    for (size_t at = 0; at < ggml_backend_dev_count(); ++at) {
        ggml_backend_dev_t device = ggml_backend_dev_get(at);
        if (ggml_backend_dev_type(device) == type) devices.push_back(device);
    }
    return devices;
}

// All GPUs belong to one module, because at most one GPU module is loaded.
Devices find_gpus() {
    Devices gpus       = devices_of_type(GGML_BACKEND_DEVICE_TYPE_GPU);
    Devices integrated = devices_of_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
    gpus.insert(gpus.end(), integrated.begin(), integrated.end());
    return gpus;
}

// Like llama.cpp: integrated GPUs only if there are no others.
Devices choose_gpus() {
    const Devices gpus = devices_of_type(GGML_BACKEND_DEVICE_TYPE_GPU);
    return gpus.empty() ? devices_of_type(GGML_BACKEND_DEVICE_TYPE_IGPU) : gpus;
}

std::string list_names(const Devices& devices) {
    std::string names;
    for (ggml_backend_dev_t device : devices) names += (names.empty() ? "" : ", ") + std::string(ggml_backend_dev_name(device));
    return names;
}

Devices find_devices(const std::vector<std::string>& names) {
    const Devices gpus = find_gpus();
    Devices       found;
    for (const std::string& name : names) {
        const auto is_it = [&](ggml_backend_dev_t device) { return name == ggml_backend_dev_name(device); };
        const auto at    = std::find_if(gpus.begin(), gpus.end(), is_it);
        if (at == gpus.end()) {
            refuse("There is no device `" + name + "` to put layers on. There " +
                   (gpus.empty() ? "is none in use; `npx chasqui doctor` says why." : "are: " + list_names(gpus) + "."));
        }
        if (std::find(found.begin(), found.end(), *at) != found.end()) refuse("The device `" + name + "` is named twice.");
        found.push_back(*at);
    }
    return found;
}

void check_split(const OffloadOptions& options, const Devices& devices) {
    const std::string there_are = "but the devices in use are: " + (devices.empty() ? "none" : list_names(devices)) + ".";
    const auto n_devices = static_cast<int32_t>(devices.size());
    if (options.main_gpu && (*options.main_gpu < 0 || *options.main_gpu >= n_devices)) {
        refuse("The main GPU has the index " + std::to_string(*options.main_gpu) + ", counted from 0, " + there_are);
    }
    if (options.tensor_split.size() > devices.size()) {
        refuse("The tensor split has " + std::to_string(options.tensor_split.size()) + " shares, " + there_are);
    }
    if (options.tensor_split.empty()) return;
    float sum = 0;
    for (const float share : options.tensor_split) {
        if (!(share >= 0)) refuse("A share of the tensor split is not a number of at least 0.");
        sum += share;
    }
    if (!(sum > 0) || !std::isfinite(sum)) refuse("The shares of the tensor split must have a sum above 0.");
}

void check_rows(const Devices& devices) {
    for (ggml_backend_dev_t device : devices) {
        ggml_backend_reg_t module = ggml_backend_dev_backend_reg(device);
        if (ggml_backend_reg_get_proc_address(module, "ggml_backend_split_buffer_type") != nullptr) continue;
        refuse("The device `" + std::string(ggml_backend_dev_name(device)) +
               "` cannot hold a part of each row: with `splitMode` layer it is given whole layers.");
    }
}

enum llama_split_mode to_llama(OffloadOptions::Split split) {
    switch (split) {
        case OffloadOptions::Split::none: return LLAMA_SPLIT_MODE_NONE;
        case OffloadOptions::Split::layer: return LLAMA_SPLIT_MODE_LAYER;
        case OffloadOptions::Split::row: return LLAMA_SPLIT_MODE_ROW;
    }
    return LLAMA_SPLIT_MODE_LAYER;
}

enum llama_load_mode load_mode(const FileOptions& file) {
    if (file.mlock) return file.mmap ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MLOCK;
    return file.mmap ? LLAMA_LOAD_MODE_AUTO : LLAMA_LOAD_MODE_NONE;
}

std::vector<llama_model_kv_override> read_metadata(const std::vector<std::string>& entries) {
    std::vector<llama_model_kv_override> metadata;
    for (const std::string& entry : entries) {
        if (string_parse_kv_override(entry.c_str(), metadata)) continue;
        refuse("`" + entry + "` does not override metadata: write key=int:1, key=float:0.5, key=bool:true or key=str:text.");
    }
    metadata.emplace_back();
    metadata.back().key[0] = 0;
    return metadata;
}

// llama.cpp would throw while loading.
void check_pattern(const std::string& pattern) {
    try {
        const std::regex parsed(pattern);
    } catch (const std::regex_error& error) {
        refuse("`" + pattern + "` is not a regular expression for names of weights: " + error.what() + ".");
    }
}

ggml_backend_buffer_type_t storage_of(const std::string& device) {
    if (device.empty()) return ggml_backend_cpu_buffer_type();
    return ggml_backend_dev_buffer_type(find_gpu(device));
}

}  // namespace

ggml_backend_device* find_gpu(const std::string& name) { return find_devices({name}).front(); }

struct Offload::Arrays {
    Devices                                       devices;       // ends with nullptr
    std::vector<float>                            tensor_split;  // as many as llama.cpp reads
    std::vector<llama_model_tensor_buft_override> overrides;     // ends with nullptr
    std::vector<llama_model_kv_override>          metadata;      // ends with an empty key
};

Offload::Offload(const OffloadOptions& options) : options_(options), arrays_(std::make_unique<Arrays>()) {
    devices_ = options.devices ? find_devices(*options.devices) : choose_gpus();
    check_split(options, devices_);
    if (options.split == OffloadOptions::Split::none && !devices_.empty()) {
        devices_ = {devices_[static_cast<size_t>(options.main_gpu.value_or(0))]};
    }
    if (options.split == OffloadOptions::Split::row) check_rows(devices_);

    arrays_->devices = devices_;
    arrays_->devices.push_back(nullptr);
    arrays_->tensor_split = options.tensor_split;
    arrays_->tensor_split.resize(std::max(llama_max_devices(), devices_.size()));
    for (const OffloadOptions::Override& each : options_.overrides) {
        check_pattern(each.tensors);
        arrays_->overrides.push_back({each.tensors.c_str(), storage_of(each.device)});
    }
    arrays_->overrides.push_back({nullptr, nullptr});
    arrays_->metadata = read_metadata(options_.file.metadata);
}

Offload::~Offload() = default;

void Offload::apply(llama_model_params& params) const {
    params.devices      = arrays_->devices.data();
    params.n_gpu_layers = options_.gpu_layers.value_or(-1);
    params.split_mode   = to_llama(options_.split);
    params.main_gpu     = 0;  // with Split::none the list has only this device
    // A single device needs no split, and fitting would not change a given one.
    if (devices_.size() > 1 && !options_.tensor_split.empty()) params.tensor_split = arrays_->tensor_split.data();
    params.load_mode       = load_mode(options_.file);
    params.use_extra_bufts = options_.file.repack;
    params.vocab_only      = options_.file.vocabulary_only;
    params.load_mtp        = options_.file.mtp;
    if (!options_.file.metadata.empty()) params.kv_overrides = arrays_->metadata.data();
    if (!options_.overrides.empty()) params.tensor_buft_overrides = arrays_->overrides.data();
}

OffloadOptions Offload::for_draft_model() const {
    OffloadOptions options;
    options.devices    = options_.draft_devices ? options_.draft_devices : device_names();
    options.gpu_layers = options_.draft_gpu_layers;
    options.file       = options_.file;
    options.file.metadata.clear();
    options.file.mtp = false;
    return options;
}

std::vector<std::string> Offload::device_names() const {
    std::vector<std::string> names;
    for (ggml_backend_dev_t device : devices_) names.emplace_back(ggml_backend_dev_name(device));
    return names;
}

ggml_backend_device* Offload::main_device() const {
    if (devices_.empty()) return nullptr;
    return devices_.size() == 1 ? devices_.front() : devices_[static_cast<size_t>(options_.main_gpu.value_or(0))];
}

}  // namespace chasqui
