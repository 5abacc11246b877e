// Thread: any, one at a time, because it changes llama.cpp's log callback. Runs in a process of its own, because
// llama.cpp or a driver may end it: `ts/native/fit-child.ts`.
#pragma once

#include "decoder.h"
#include "draft-source.h"
#include "offload.h"
#include "vision.h"

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
    size_t         spare_bytes   = 0;  // to leave free on each device
    size_t         kv_budget_bytes = 0;  // of main memory, for KV cells; 0: for all
};

// The same devices, with as many layers as fit into their free memory in addition to the KV cells, the projector and
// the draft model, or what the MTP layer computes with. llama.cpp calculates that by setting everything up without
// allocating it. Throws `Error` when that fails.
OffloadOptions fit_to_memory(const FitRequest& request);

// What a device has, and what the model would take of it, in bytes.
struct DeviceMemory {
    std::string name;  // ggml's; empty: main memory
    size_t      total = 0, free = 0;
    size_t      weights = 0, cells = 0, compute = 0;
    size_t      other = 0;  // projector, and draft model or the cells and buffers of the MTP layer
};

// The devices of `request.offload`, whose number of layers counts, and main memory last. Nothing is allocated. Throws
// `Error`.
std::vector<DeviceMemory> measure_memory(const FitRequest& request);

}  // namespace chasqui
