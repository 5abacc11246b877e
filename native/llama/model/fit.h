// Thread: any, one at a time, because it changes llama.cpp's log callback. Runs in its own process, because llama.cpp
// or a driver may abort: `ts/native/fit-child.ts`.
#pragma once

#include "../decoding/decoder.h"
#include "../drafts/draft-source.h"
#include "offload.h"
#include "../images/vision.h"

#include <cstddef>
#include <string>
#include <vector>

namespace chasqui {

// Everything that determines a model's memory.
struct FitRequest {
    std::string    path;
    OffloadOptions offload;  // without a number of layers
    DecoderOptions decoder;
    VisionOptions  vision;
    DraftOptions   draft;
    size_t         n_draft_slots = 0;  // of a draft model
    size_t         spare_bytes     = 0;  // bytes to leave free on each device
    size_t         kv_budget_bytes = 0;  // bytes of main memory for KV cells; 0: enough for all slots
};

// Returns the offload with as many layers as fit into the devices' free memory, in addition to the KV cells, the
// projector, and the draft model or MTP layer. llama.cpp calculates this by a setup without allocation. Throws `Error`
// on failure.
OffloadOptions fit_to_memory(const FitRequest& request);

// Memory of a device, and how much of it the model would use, in bytes.
struct DeviceMemory {
    std::string name;  // name in ggml; empty: main memory
    size_t      total = 0, free = 0;
    size_t      weights = 0, cells = 0, compute = 0;
    size_t      other = 0;  // projector, draft model, or cells and buffers of the MTP layer
};

// The devices of `request.offload`, for its number of layers, then main memory. Allocates nothing. Throws `Error`.
std::vector<DeviceMemory> measure_memory(const FitRequest& request);

}  // namespace chasqui
