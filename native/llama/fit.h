// Thread: any, one at a time: it changes llama.cpp's log callback. Runs in a process of its own, which llama.cpp or a
// driver may end: `ts/native/fit.ts`.
#pragma once

#include "decoder.h"
#include "draft-model.h"
#include "offload.h"
#include "vision.h"

#include <cstddef>
#include <string>

namespace chasqui {

// What a model's memory depends on.
struct FitRequest {
    std::string    path;
    OffloadOptions offload;  // without layers
    DecoderOptions decoder;
    VisionOptions  vision;
    DraftOptions   draft;
    size_t         n_draft_slots = 0;
    size_t         spare_bytes   = 0;  // to leave free on each device
};

// The same devices with as many layers as fit into their free memory beside the KV cells, the projector and the draft
// model: by llama.cpp's own account, which sets everything up without allocating it. Throws `Error` when that fails.
OffloadOptions fit_to_memory(const FitRequest& request);

}  // namespace chasqui
