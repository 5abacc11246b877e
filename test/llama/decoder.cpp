#include "../native/check.h"
#include "test-files.h"

#include "core/error-code.h"
#include "llama/decoding/decoder.h"

#include <ggml-backend.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

bool g_no_memory_for_snapshots = false;

}  // namespace

// Only snapshots use aligned memory.
void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto  unit  = static_cast<std::size_t>(alignment);
    void* const bytes = g_no_memory_for_snapshots ? nullptr : std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
    if (bytes == nullptr) throw std::bad_alloc();
    return bytes;
}

// AddressSanitizer wants memory to go back where it came from.
void operator delete(void* bytes, std::align_val_t) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::size_t, std::align_val_t) noexcept { std::free(bytes); }

namespace {

struct Loaded {
    Model    model;
    Adapters adapters{model, {}};
    Decoder  decoder;

    explicit Loaded(uint32_t n_slots = 2)
        : model(demo_model(), OffloadOptions(), [](float) { return true; }), decoder(model, adapters, options(n_slots)) {}

    static std::string demo_model() {
        ggml_backend_load_all();
        return kDemoModel;
    }

    static DecoderOptions options(uint32_t n_slots) {
        DecoderOptions options;
        options.context_length = 256;
        options.n_slots        = n_slots;
        options.n_batch        = 64;
        options.n_ubatch       = 64;
        options.threads        = 1;
        return options;
    }
};

// A sequence with `n_tokens` computed cells in the slot, with tokens counting up from `first`.
std::unique_ptr<Sequence> computed(Decoder& decoder, int32_t slot, size_t n_tokens, TokenId first = 10) {
    Job job;
    job.id = 1;
    job.prompt.resize(n_tokens);
    std::iota(job.prompt.begin(), job.prompt.end(), first);
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

// The logits of a token after the first `n_kept` tokens of the slot.
std::vector<float> logits_behind(const Loaded& loaded, Decoder& decoder, int32_t slot, size_t n_kept) {
    Job job;
    job.id = 2;
    job.prompt.assign(n_kept + 1, 50);
    Sequence sequence(std::move(job));
    sequence.admit(slot, n_kept, Clock::now());
    decoder.decode({{&sequence, 1}});
    const float* logits = decoder.logits(0, 0);
    return {logits, logits + loaded.model.vocabulary_size()};
}

const Test copied_anew("decoder: a slot that is copied, filled anew and copied again brings what is in it then", [] {
    Loaded     loaded(4);
    Decoder&   decoder = loaded.decoder;
    const auto copy    = [](int32_t slot, int32_t source, int32_t n_keep) {
        Placement placement = from_snapshot(slot, source, n_keep);
        placement.source    = Placement::Source::slot;
        return placement;
    };
    computed(decoder, 0, 20, 100);
    decoder.save({0, 7, {}});
    const std::vector<float> expected = logits_behind(loaded, decoder, 0, 20);
    computed(decoder, 2, 20, 10);
    expect(decoder.place(copy(1, 2, 20)), "the first copy");
    expect(decoder.place(from_snapshot(2, 7, 20)), "filled anew");
    expect(decoder.place(copy(3, 2, 20)), "the second copy");
    const std::vector<float> got = logits_behind(loaded, decoder, 3, 20);
    float                    most = 0;
    for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - expected[i]));
    expect(most < 0.05f, "the logits of what was loaded, not " + std::to_string(most) + " away");
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

// A step that computes these numbers of tokens, one per slot, after a prefix of four. Slots of 0 tokens are empty.
struct Step {
    Loaded                                 loaded;
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<PlanRow>                   rows;

    explicit Step(const std::vector<size_t>& n_tokens) : loaded(static_cast<uint32_t>(n_tokens.size())) {
        constexpr size_t n_prefix = 4;
        for (size_t slot = 0; slot < n_tokens.size(); ++slot) {
            if (n_tokens[slot] == 0) continue;
            Job job;
            job.id = static_cast<uint32_t>(slot + 1);
            job.prompt.resize(n_prefix + n_tokens[slot]);
            std::iota(job.prompt.begin(), job.prompt.end(), static_cast<TokenId>(10 + 5 * slot));
            Sequence& sequence = *sequences.emplace_back(std::make_unique<Sequence>(std::move(job)));
            sequence.admit(static_cast<int32_t>(slot), 0, Clock::now());
            loaded.decoder.decode({{&sequence, n_prefix}});
            sequence.advance(n_prefix);
            rows.push_back({&sequence, n_tokens[slot]});
        }
    }

    uint64_t passes() {
        const uint64_t before = loaded.decoder.n_passes();
        loaded.decoder.decode(rows);
        return loaded.decoder.n_passes() - before;
    }

    std::vector<float> logits(size_t row) const {
        const float* const first = loaded.decoder.logits(row, 0);
        return {first, first + loaded.model.vocabulary_size()};
    }
};

const Test passes("decoder: a step is one pass over the weights", [] {
    for (const std::vector<size_t>& n_tokens : std::vector<std::vector<size_t>>{
             {1, 1, 1, 1}, {12, 12, 12, 12}, {40}, {1, 1, 1, 40}, {20, 1, 8, 1}, {1, 0, 1, 9}}) {
        expect_equal(Step(n_tokens).passes(), uint64_t{1});
    }
    // More than eight groups: llama.cpp's split_equal().
    expect_equal(Step({1, 2, 1, 2, 1, 2, 1, 2, 1}).passes(), uint64_t{5});
});

const Test same_bits("decoder: logits do not depend on the other streams of a step", [] {
    for (const std::vector<size_t>& n_tokens : std::vector<std::vector<size_t>>{
             {1, 1, 1, 40}, {20, 1, 8, 1}, {1, 0, 1, 9}, {3, 3, 0, 2, 2, 1}}) {
        Step together(n_tokens), alone(n_tokens);
        together.passes();
        for (size_t row = 0; row < together.rows.size(); ++row) {
            alone.loaded.decoder.decode({alone.rows[row]});
            const std::vector<float> expected = alone.logits(0), found = together.logits(row);
            float difference = 0, most = 0;
            for (size_t i = 0; i < found.size(); ++i) {
                difference = std::max(difference, std::abs(found[i] - expected[i]));
                most       = std::max(most, std::abs(expected[i]));
            }
            expect(difference <= (together.loaded.decoder.batch_invariant() ? 0 : 0.02F * most), "the same logits");
        }
    }
});

}  // namespace
