// Thread: any; plain data.
#pragma once

#include <cstddef>
#include <vector>

namespace chasqui {

// An adapter (LoRA) that a job is computed with, and how strongly.
struct AdapterUse {
    size_t adapter;  // index among those that were loaded with the model
    float  scale;    // never 0

    bool operator==(const AdapterUse& other) const { return adapter == other.adapter && scale == other.scale; }
    bool operator<(const AdapterUse& other) const {
        return adapter != other.adapter ? adapter < other.adapter : scale < other.scale;
    }
};

// The adapters of a job, ascending and each at most once; empty: the model alone. KV cells that were computed with one
// set are wrong for every other, and llama.cpp computes a batch with one set.
using AdapterSet = std::vector<AdapterUse>;

}  // namespace chasqui
