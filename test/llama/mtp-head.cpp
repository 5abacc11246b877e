// What an MTP layer drafts step by step is what it drafts for a text that is computed in one step, alone.
#include "../native/check.h"

#include "llama/drafts/mtp-head.h"

#include <ggml-backend.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Tokens = std::vector<TokenId>;

constexpr size_t kMaxDraft = 3;

// Written by parity.test.ts: an MTP layer with random weights, so its drafts depend on all tokens that it has read.
std::string mtp_model(const char* architecture) {
    ggml_backend_load_all();
    const std::string variable = std::string("CHASQUI_TEST_MTP_") + architecture;
    const char*       path     = std::getenv(variable.c_str());
    if (path == nullptr) fail(variable + " to name a model");
    return path;
}

struct Loaded {
    Model    model;
    Adapters adapters{model, {}};
    Decoder  decoder;
    MtpHead  head;
    uint32_t n_jobs = 0;

    explicit Loaded(const char* architecture, uint32_t n_slots = 2)
        : model(mtp_model(architecture), offload(), [](float) { return true; }),
          decoder(model, adapters, decoder_options(n_slots)),
          head(draft_options(), model, decoder) {}

    static OffloadOptions offload() {
        OffloadOptions options;
        options.file.mtp = true;
        return options;
    }

    static DecoderOptions decoder_options(uint32_t n_slots) {
        DecoderOptions options;
        options.context_length  = 512;
        options.n_slots         = n_slots;
        options.n_batch         = 512;
        options.n_ubatch        = 64;
        options.threads         = 1;
        options.n_draft_outputs = kMaxDraftedSequences * kMaxDraft;
        options.has_hidden_rows = true;
        options.n_rollback      = kMaxDraft;
        return options;
    }

    static DraftOptions draft_options() {
        DraftOptions options;
        options.mtp   = true;
        options.n_max = kMaxDraft;
        return options;
    }

    std::unique_ptr<Sequence> sequence(const Tokens& tokens, int32_t slot, size_t n_kept = 0) {
        if (n_kept == 0) decoder.trim(slot, 0);
        Job job;
        job.id        = ++n_jobs;
        job.prompt    = tokens;
        auto sequence = std::make_unique<Sequence>(std::move(job));
        sequence->admit(slot, n_kept, Clock::now());
        return sequence;
    }

    // As the engine does it: the rows are taken over before the sequences go on.
    void compute(const std::vector<PlanRow>& rows) {
        decoder.decode(rows);
        head.computed(rows);
        for (const PlanRow& row : rows) row.sequence->advance(row.n_tokens);
    }

    void prefill(Sequence& sequence, size_t n_at_a_time) {
        while (sequence.n_pending() > 1) compute({{&sequence, std::min(n_at_a_time, sequence.n_pending() - 1)}});
    }

    Tokens draft(const Sequence& sequence) { return head.draft({{&sequence, kMaxDraft}}).front(); }

    Tokens draft_at_once(const Tokens& tokens) {
        const auto whole = sequence(tokens, 0);
        prefill(*whole, tokens.size());
        return draft(*whole);
    }
};

// Some text, which says the same at the same place.
Tokens text(size_t n_tokens, size_t seed = 1) {
    Tokens tokens;
    for (size_t i = 0; i < n_tokens; ++i) tokens.push_back(static_cast<TokenId>(20 + (i * i * 7 + i * seed * 13) % 200));
    return tokens;
}

Tokens first(const Tokens& tokens, size_t n) {
    return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n)};
}

// The next row with a draft. Its first `n_right` tokens are correct.
PlanRow drafted(Sequence& sequence, const Tokens& text, size_t n_right) {
    PlanRow      row{&sequence, 1};
    const size_t at = sequence.tokens.size();
    for (size_t i = 0; i < kMaxDraft; ++i) row.draft.push_back(text[at + i] + (i < n_right ? 0 : 1));
    return row;
}

// As in the engine after sampling: accepts the correct draft tokens and appends one token.
void accept(Loaded& loaded, Sequence& sequence, const Tokens& text, size_t n_right) {
    for (size_t i = 0; i <= n_right; ++i) sequence.tokens.push_back(text[sequence.tokens.size()]);
    sequence.n_computed += n_right;
    expect(loaded.decoder.trim(sequence.slot, static_cast<int32_t>(sequence.n_computed)), "the draft's cells to go");
}

void expect_same(const Tokens& actual, const Tokens& expected, const std::string& where) {
    std::string shown = where + ": the draft to be the same:";
    for (const TokenId token : actual) shown += " " + std::to_string(token);
    shown += ", not";
    for (const TokenId token : expected) shown += " " + std::to_string(token);
    expect(actual.size() == kMaxDraft && actual == expected, shown);
}

void test_steps(const char* architecture) {
    Loaded       loaded(architecture), at_once(architecture, 1);
    const Tokens said     = text(400);
    const auto   sequence = loaded.sequence(first(said, 301), 0);
    loaded.prefill(*sequence, 70);
    for (const size_t n_right : {0, 1, 3, 2, 0, 0, 3, 3, 1}) {
        expect_same(loaded.draft(*sequence), at_once.draft_at_once(sequence->tokens), std::to_string(n_right));
        loaded.compute({drafted(*sequence, said, n_right)});
        accept(loaded, *sequence, said, n_right);
    }
    // Nothing is drafted for a while: what can be read is read when that is much.
    while (sequence->tokens.size() < said.size() - kMaxDraft - 1) {
        loaded.compute({drafted(*sequence, said, 3)});
        accept(loaded, *sequence, said, 3);
    }
    expect_same(loaded.draft(*sequence), at_once.draft_at_once(sequence->tokens), "after a while");
}

void test_two(const char* architecture) {
    Loaded                                 loaded(architecture), at_once(architecture, 1);
    const Tokens                           said[] = {text(200, 1), text(200, 3)};
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (int32_t slot : {0, 1}) {
        sequences.push_back(loaded.sequence(first(said[slot], slot == 0 ? 40 : 90), slot));
        loaded.prefill(*sequences.back(), 200);
    }
    const std::vector<std::pair<size_t, size_t>> right = {{0, 2}, {3, 1}, {2, 0}, {1, 3}, {3, 3}};
    for (const auto& [right_0, right_1] : right) {
        const auto drafts = loaded.head.draft({{sequences[0].get(), kMaxDraft}, {sequences[1].get(), kMaxDraft}});
        for (size_t i : {0, 1}) expect_same(drafts[i], at_once.draft_at_once(sequences[i]->tokens), std::to_string(i));
        loaded.compute({drafted(*sequences[0], said[0], right_0), drafted(*sequences[1], said[1], right_1)});
        accept(loaded, *sequences[0], said[0], right_0);
        accept(loaded, *sequences[1], said[1], right_1);
    }
}

const Test steps_kv("mtp-head: step by step it drafts what it drafts at once", [] { test_steps("hy_v3"); });
const Test steps_state("mtp-head: also where a state is taken back", [] { test_steps("qwen35"); });
const Test two_kv("mtp-head: two sequences do not disturb each other", [] { test_two("hy_v3"); });
const Test two_state("mtp-head: nor do their states", [] { test_two("qwen35"); });

const Test goes_on("mtp-head: a job that goes on in a slot goes on with its rows", [] {
    Loaded       loaded("hy_v3"), at_once("hy_v3", 1);
    const Tokens said  = text(200);
    const auto   asked = loaded.sequence(first(said, 60), 0);
    loaded.prefill(*asked, 60);
    loaded.compute({drafted(*asked, said, 1)});
    accept(loaded, *asked, said, 1);
    const auto more = loaded.sequence(first(said, 100), 0, asked->n_computed);
    loaded.prefill(*more, 60);
    expect_same(loaded.draft(*more), at_once.draft_at_once(more->tokens), "all rows");
});

const Test begins_anew("mtp-head: without rows there is no draft, and other rows are not taken for them", [] {
    Loaded       loaded("hy_v3");
    const Tokens said = text(200), other = text(200, 5);
    const auto   stranger = loaded.sequence(first(other, 80), 0);
    loaded.prefill(*stranger, 80);
    // As after a prefix that the cache has brought: the head has never seen its rows.
    const auto restored = loaded.sequence(first(said, 80), 1);
    loaded.decoder.decode({{restored.get(), 79}});
    restored->advance(79);
    expect(loaded.draft(*restored).empty(), "no draft without rows");
    loaded.compute({{restored.get(), 1}});
    restored->tokens.push_back(said[80]);
    const Tokens from_one_row = loaded.draft(*restored);
    expect(from_one_row.size() == kMaxDraft, "a draft from the row that there is");
    // The same in a slot where the head has read another text.
    const auto in_its_place = loaded.sequence(first(said, 80), 0);
    loaded.decoder.decode({{in_its_place.get(), 79}});
    in_its_place->advance(79);
    expect(loaded.draft(*in_its_place).empty(), "no draft from another's rows");
    loaded.compute({{in_its_place.get(), 1}});
    in_its_place->tokens.push_back(said[80]);
    expect_same(loaded.draft(*in_its_place), from_one_row, "a slot that had another text");
});

const Test loaded_state("mtp-head: a state that was loaded is not taken back to one that is not there", [] {
    Loaded     loaded("qwen35");
    const auto sequence = loaded.sequence(text(20), 0);
    loaded.decoder.decode({{sequence.get(), 20}});
    loaded.decoder.save({0, 7, {}});
    const auto placed = [&](int32_t n_kept) {
        Placement placement;
        placement.slot               = 1;
        placement.source             = Placement::Source::snapshot;
        placement.source_id          = 7;
        placement.n_keep             = static_cast<size_t>(n_kept);
        placement.last_kept_position = n_kept - 1;
        placement.next_position      = n_kept;
        return loaded.decoder.place(placement);
    };
    expect(placed(20), "all of it to be placed");
    expect(!placed(19), "less than all of it not to be placed");
});

const Test among_many("mtp-head: rows that were not taken over among many are not made up", [] {
    Loaded                                 loaded("hy_v3", 3);
    const Tokens                           said = text(200);
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (int32_t slot : {0, 1, 2}) {
        sequences.push_back(loaded.sequence(first(said, 40), slot));
        loaded.prefill(*sequences.back(), 40);
    }
    expect(!loaded.draft(*sequences[0]).empty(), "a draft before");
    loaded.compute({{sequences[0].get(), 1}, {sequences[1].get(), 1}, {sequences[2].get(), 1}});
    for (const auto& sequence : sequences) sequence->tokens.push_back(said[40]);
    expect(loaded.draft(*sequences[0]).empty(), "none without the row");
    loaded.compute({{sequences[0].get(), 1}});
    sequences[0]->tokens.push_back(said[41]);
    expect(!loaded.draft(*sequences[0]).empty(), "a draft after the next row");
});

}  // namespace
