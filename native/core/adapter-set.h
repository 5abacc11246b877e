// Thread: any; plain data.
#pragma once

#include <cstddef>
#include <vector>

namespace chasqui {

// An adapter (LoRA) of a job, and its scale.
struct AdapterUse {
    size_t adapter;  // index among the adapters loaded with the model
    float  scale;    // never 0

    bool operator==(const AdapterUse& other) const { return adapter == other.adapter && scale == other.scale; }
    bool operator<(const AdapterUse& other) const {
        return adapter != other.adapter ? adapter < other.adapter : scale < other.scale;
    }
};

// The adapters of a job, ascending and unique; empty: the base model. KV cells are only valid for the set that they
// were computed with, and llama.cpp computes a batch with one set.
using AdapterSet = std::vector<AdapterUse>;

}  // namespace chasqui
