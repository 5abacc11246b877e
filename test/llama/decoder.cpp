#include "../native/check.h"

#include "core/error-code.h"
#include "llama/decoder.h"

#include <ggml-backend.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

bool g_no_memory_for_snapshots = false;

}  // namespace

// Only snapshots ask for aligned memory.
void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto  unit  = static_cast<std::size_t>(alignment);
    void* const bytes = g_no_memory_for_snapshots ? nullptr : std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
    if (bytes == nullptr) throw std::bad_alloc();
    return bytes;
}

namespace {

struct Loaded {
    Model   model;
    Decoder decoder;

    Loaded() : model(demo_model(), OffloadOptions(), [](float) { return true; }), decoder(model, options()) {}

    static std::string demo_model() {
        ggml_backend_load_all();
        return DEMO_MODEL;
    }

    static DecoderOptions options() {
        DecoderOptions options;
        options.context_length = 256;
        options.parallel       = 2;
        options.n_batch        = 64;
        options.n_ubatch       = 64;
        options.threads        = 1;
        return options;
    }
};

// A sequence of which `n_tokens` have cells in the slot.
std::unique_ptr<Sequence> computed(Decoder& decoder, int32_t slot, size_t n_tokens) {
    Job job;
    job.id = 1;
    job.prompt.resize(n_tokens);
    std::iota(job.prompt.begin(), job.prompt.end(), 10);
    auto sequence = std::make_unique<Sequence>(std::move(job));
    sequence->admit(slot, 0, Clock::now());
    decoder.decode({{sequence.get(), n_tokens}});
    sequence->advance(n_tokens);
    return sequence;
}

Placement from_snapshot(int32_t slot, int32_t id, int32_t n_keep) {
    Placement placement;
    placement.slot               = slot;
    placement.source             = Placement::Source::snapshot;
    placement.source_id          = id;
    placement.n_keep             = static_cast<size_t>(n_keep);
    placement.last_kept_position = n_keep - 1;
    placement.next_position      = n_keep;
    return placement;
}

const Test brings_in("decoder: a snapshot brings its cells into another slot", [] {
    Loaded loaded;
    computed(loaded.decoder, 0, 20);
    loaded.decoder.save({0, 7, {}});
    expect(loaded.decoder.place(from_snapshot(1, 7, 12)), "placed");
    expect(!loaded.decoder.place(from_snapshot(1, 7, 21)), "no more than it holds");
});

const Test empty_state("decoder: a snapshot without cells does not leave another conversation's in the slot", [] {
    Loaded loaded;
    loaded.decoder.save({1, 7, {}});
    computed(loaded.decoder, 0, 20);
    expect(!loaded.decoder.place(from_snapshot(0, 7, 12)), "nothing is kept");
    computed(loaded.decoder, 0, 20);
});

const Test no_memory("decoder: a snapshot that there is no memory for is one that is not found", [] {
    Loaded loaded;
    computed(loaded.decoder, 0, 20);
    g_no_memory_for_snapshots = true;
    loaded.decoder.save({0, 7, {}});
    g_no_memory_for_snapshots = false;
    expect(!loaded.decoder.place(from_snapshot(1, 7, 12)), "not found");
    loaded.decoder.save({0, 8, {}});
    expect(loaded.decoder.place(from_snapshot(1, 8, 12)), "the next one is");
});

}  // namespace
