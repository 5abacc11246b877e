#include "fit.h"

#include "../../core/error-code.h"
#include "../decoding/context-params.h"
#include "../system/log.h"
#include "model.h"
#include "../drafts/mtp-head.h"

#include <fit.h>
#include <llama.h>
#include <mtmd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

using Bytes = std::map<ggml_backend_dev_t, size_t>;

[[noreturn]] void fail(const std::string& what) {
    const std::string said = take_last_errors();
    throw Error(ErrorCode::model_load_failed, what + (said.empty() ? "" : ": " + said));
}

using VocabularyOnly = std::unique_ptr<llama_model, void (*)(llama_model*)>;

VocabularyOnly read_metadata(const std::string& path) {
    check_gguf_file(path);
    llama_model_params params    = llama_model_default_params();
    ggml_backend_dev_t nothing[] = {nullptr};
    params.devices               = nothing;
    params.vocab_only            = true;
    VocabularyOnly model(llama_model_load_from_file(path.c_str(), params), llama_model_free);
    if (!model) fail("llama.cpp could not read " + path);
    return model;
}

uint32_t trained_context_length(const std::string& path) {
    return static_cast<uint32_t>(llama_model_n_ctx_train(read_metadata(path).get()));
}

Bytes measure_projector(const FitRequest& request, const Offload& offload) {
    if (request.vision.path.empty()) return {};
    check_gguf_file(request.vision.path, "mmproj");
    const Bytes bytes = mtmd_get_memory_usage(request.vision.path.c_str(),
                                              vision_context_params(request.vision, offload));
    if (bytes.empty()) fail("the memory of the projector " + request.vision.path + " is not known");
    return bytes;
}

// Memory that is not on a listed device is main memory.
Bytes by_device(const common_device_memory_data_vec& measured, const std::vector<ggml_backend_dev_t>& devices,
                bool with_weights) {
    Bytes bytes;
    for (size_t at = 0; at < measured.size(); ++at) {
        bytes[at < devices.size() ? devices[at] : nullptr] +=
            (with_weights ? measured[at].model : 0) + measured[at].context + measured[at].compute;
    }
    return bytes;
}

// The context of an MTP layer; its weights are part of the model. A model without one is refused when loading.
Bytes measure_mtp_head(const FitRequest& request, const Offload& offload, uint32_t context_length) {
    if (!mtp_obstacle(read_metadata(request.path).get()).empty()) return {};
    llama_model_params model = llama_model_default_params();
    offload.apply(model);
    const llama_context_params context =
        mtp_context_params(request.decoder.n_slots, context_length, request.draft.n_max, request.draft.context);
    std::vector<ggml_backend_dev_t> devices;
    uint32_t                        n_layers, trained_length, n_experts;
    try {
        return by_device(common_get_device_memory_data(request.path.c_str(), &model, &context, devices, n_layers,
                                                       trained_length, n_experts, GGML_LOG_LEVEL_ERROR),
                         devices, false);
    } catch (const std::runtime_error& error) {
        fail(error.what());
    }
}

Bytes measure_drafts(const FitRequest& request, const Offload& offload, uint32_t context_length) {
    if (request.draft.mtp) return measure_mtp_head(request, offload, context_length);
    if (request.draft.model_path.empty()) return {};
    check_gguf_file(request.draft.model_path, "draftModel");
    const Offload      all(offload.for_draft_model());
    llama_model_params model = llama_model_default_params();
    all.apply(model);
    const llama_context_params      context = draft_context_params(request.n_draft_slots, context_length, request.draft.context);
    std::vector<ggml_backend_dev_t> devices;
    uint32_t                        n_layers, trained_length, n_experts;
    const auto measured = common_get_device_memory_data(request.draft.model_path.c_str(), &model, &context, devices,
                                                        n_layers, trained_length, n_experts, GGML_LOG_LEVEL_ERROR);
    return by_device(measured, devices, true);
}

const char* why_not(const FitRequest& request, const Offload& offload) {
    if (offload.devices().size() > 1 && request.offload.split == OffloadOptions::Split::row) {
        return "llama.cpp cannot fit a model with row split; set the number of layers";
    }
    if (offload.devices().size() > 1 && !request.offload.tensor_split.empty()) {
        return "the model does not fit into the devices' free memory with this tensor split; set the number of layers, "
               "or "
               "omit the split";
    }
    return "llama.cpp found no way to fit the model into the devices' free memory";
}

std::string name_of(ggml_backend_buffer_type_t storage) {
    ggml_backend_dev_t device = ggml_backend_buft_get_device(storage);
    return device == nullptr || ggml_backend_buft_is_host(storage) ? "" : ggml_backend_dev_name(device);
}

}  // namespace

OffloadOptions fit_to_memory(const FitRequest& request) {
    take_last_errors();
    const Offload        offload(request.offload);
    llama_context_params context = decoder_context_params(trained_context_length(request.path), request.decoder);
    const uint32_t       context_length = context.n_ctx / context.n_seq_max;

    std::vector<size_t> spare(std::max<size_t>(1, offload.devices().size()), request.spare_bytes);
    for (const Bytes& bytes :
         {measure_projector(request, offload), measure_drafts(request, offload, context_length)}) {
        for (size_t at = 0; at < offload.devices().size(); ++at) {
            const auto found = bytes.find(offload.devices()[at]);
            if (found != bytes.end()) spare[at] += found->second;
        }
    }

    llama_model_params model = llama_model_default_params();
    offload.apply(model);
    std::vector<float>                            shares(std::max(llama_max_devices(), spare.size()));
    std::vector<llama_model_tensor_buft_override> overrides(llama_max_tensor_buft_overrides());
    const auto status = common_fit_params(request.path.c_str(), &model, &context, shares.data(), overrides.data(),
                                          spare.data(), 0, nullptr, GGML_LOG_LEVEL_ERROR);
    if (status != COMMON_PARAMS_FIT_STATUS_SUCCESS) fail(why_not(request, offload));

    OffloadOptions fitted = request.offload;
    if (model.n_gpu_layers < 0) return fitted;
    fitted.gpu_layers = model.n_gpu_layers;
    if (offload.devices().size() > 1) {
        shares.resize(offload.devices().size());
        fitted.tensor_split = shares;
    }
    for (const auto& [pattern, storage] : overrides) {
        if (pattern == nullptr) break;
        fitted.overrides.push_back({pattern, name_of(storage)});
    }
    return fitted;
}

std::vector<DeviceMemory> measure_memory(const FitRequest& request) {
    take_last_errors();
    const Offload              offload(request.offload);
    const llama_context_params context = decoder_context_params(trained_context_length(request.path), request.decoder);
    llama_model_params         model   = llama_model_default_params();
    offload.apply(model);
    std::vector<ggml_backend_dev_t> devices;
    uint32_t                        n_layers, trained_length, n_experts;
    common_device_memory_data_vec   measured;
    try {
        measured = common_get_device_memory_data(request.path.c_str(), &model, &context, devices, n_layers,
                                                 trained_length, n_experts, GGML_LOG_LEVEL_ERROR);
    } catch (const std::runtime_error& error) {
        fail(error.what());
    }
    const Bytes projector = measure_projector(request, offload);
    const Bytes draft     = measure_drafts(request, offload, context.n_ctx / context.n_seq_max);

    std::vector<DeviceMemory> memory;
    for (size_t at = 0; at < measured.size(); ++at) {
        const auto&  device = measured[at];
        DeviceMemory taken;
        if (at < devices.size()) taken.name = ggml_backend_dev_name(devices[at]);
        taken.total   = static_cast<size_t>(device.total);
        taken.free    = static_cast<size_t>(device.free);
        taken.weights = device.model;
        taken.cells   = device.context;
        taken.compute = device.compute;
        // Main memory is committed as cells are used, and the budget limits them. Other devices allocate all at once.
        const size_t budget = request.kv_budget_bytes;
        if (taken.name.empty() && budget > 0) taken.cells = std::min(taken.cells, budget);
        memory.push_back(std::move(taken));
    }
    // What is on none of the model's devices is in main memory.
    for (const Bytes& bytes : {projector, draft}) {
        for (const auto& [device, size] : bytes) {
            const auto found = std::find(devices.begin(), devices.end(), device);
            memory[static_cast<size_t>(found - devices.begin())].other += size;
        }
    }
    return memory;
}

}  // namespace chasqui
