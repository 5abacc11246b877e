// Slot selection for prompts that share a prefix with a cached conversation, and copying of the prefix.
#include "check.h"

#include "core/prefix-cache.h"

#include <numeric>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Tokens = std::vector<TokenId>;

// `n_common` tokens that all prompts begin with, then such as only this one has.
Tokens prompt_of(size_t n_common, size_t n_own, TokenId own) {
    Tokens tokens(n_common + n_own);
    std::iota(tokens.begin(), tokens.end(), 0);
    std::iota(tokens.begin() + static_cast<ptrdiff_t>(n_common), tokens.end(), own);
    return tokens;
}

int32_t keep(PrefixCache& cache, const Tokens& tokens) {
    const int32_t slot = cache.place(tokens).placement.slot;
    cache.release(slot, tokens, tokens.size());
    return slot;
}

Tokens next_turn(Tokens conversation) {
    conversation.insert(conversation.end(), 30, 7);
    return conversation;
}

const Test leaves_it("prefix-cache: who shares the beginning of a long conversation takes an empty slot", [] {
    for (const Truncation truncation : {Truncation::anywhere, Truncation::in_place}) {
        PrefixCache   cache({3, 1, 0, 0, truncation});
        const Tokens  conversation = prompt_of(40, 2'000, 10'000);
        const int32_t slot         = keep(cache, conversation);
        const auto    newcomer     = cache.place(prompt_of(40, 100, 20'000)).placement;
        expect(newcomer.slot != slot, "another slot");
        expect_equal(newcomer.n_keep, size_t{0});
        const auto next = cache.place(next_turn(conversation)).placement;
        expect(next.source == Placement::Source::in_place, "in place");
        expect_equal(next.n_keep, conversation.size());
        cache.check_invariants();
    }
});

const Test shares_much("prefix-cache: a beginning that takes longer to compute than to copy is copied into an empty slot", [] {
    PrefixCache   cache({3, 1, 0});
    const Tokens  conversation = prompt_of(200, 2'000, 10'000);
    const int32_t slot         = keep(cache, conversation);
    const auto    newcomer     = cache.place(prompt_of(200, 100, 20'000)).placement;
    expect(newcomer.source == Placement::Source::slot, "a copy");
    expect_equal(newcomer.source_id, slot);
    expect_equal(newcomer.n_keep, size_t{200});
    expect_equal(cache.place(next_turn(conversation)).placement.n_keep, conversation.size());
});

const Test much_in_place("prefix-cache: with sliding windows much of a conversation is kept in place, and saved before", [] {
    PrefixCache   cache({3, 1, 100'000, 0, Truncation::in_place});
    const int32_t slot     = keep(cache, prompt_of(4'000, 6'000, 10'000));
    const auto    newcomer = cache.place(prompt_of(4'000, 100, 20'000)).placement;
    expect_equal(newcomer.slot, slot);
    expect_equal(newcomer.n_keep, size_t{4'000});
    expect(newcomer.save_as >= 0, "saved");
    cache.check_invariants();
});

const Test no_gap("prefix-cache: a conversation's slot is taken where another would leave a gap", [] {
    for (const Truncation truncation : {Truncation::anywhere, Truncation::in_place}) {
        PrefixCache   cache({4, 1, 0, 0, truncation});
        const int32_t running = cache.place(prompt_of(0, 100, 50'000)).placement.slot;
        const Tokens  first   = prompt_of(40, 2'000, 10'000);
        const int32_t beside  = keep(cache, first);
        expect_equal(beside, running + 1);
        const auto newcomer = cache.place(prompt_of(40, 100, 20'000)).placement;
        expect_equal(newcomer.slot, beside);
        expect_equal(newcomer.n_keep, size_t{40});
    }
});

const Test short_wait("prefix-cache: nobody waits for a prefix that is then not worth its copy", [] {
    PrefixCache cache({3, 1, 0});
    cache.place(prompt_of(40, 1'500, 10'000));
    const auto other = cache.place(prompt_of(40, 100, 20'000));
    expect(other.status == PlacementStatus::placed && other.placement.n_keep == 0, "computed at once");
    expect(cache.place(prompt_of(40, 100, 10'000)).status == PlacementStatus::prefix_in_flight, "140 in common");
});

const Test edits("prefix-cache: who goes on with most of a conversation goes on in its slot", [] {
    PrefixCache   cache({3, 1, 0});
    const int32_t slot = keep(cache, prompt_of(600, 400, 10'000));
    const auto    edit = cache.place(prompt_of(600, 100, 20'000)).placement;
    expect_equal(edit.slot, slot);
    expect_equal(edit.n_keep, size_t{600});
});

const Test only_one("prefix-cache: where the conversation's slot is the only one, its beginning is kept", [] {
    for (const Truncation truncation : {Truncation::anywhere, Truncation::in_place}) {
        PrefixCache cache({1, 1, 0, 0, truncation});
        keep(cache, prompt_of(40, 2'000, 10'000));
        expect_equal(cache.place(prompt_of(40, 100, 20'000)).placement.n_keep, size_t{40});
    }
});

const Test oldest("prefix-cache: where all slots hold conversations, the oldest goes, whoever shares most with the newcomer", [] {
    PrefixCache  cache({2, 1, 0});
    const Tokens newer   = prompt_of(40, 2'000, 10'000);
    const int32_t first  = keep(cache, prompt_of(0, 2'000, 20'000));
    const int32_t second = keep(cache, newer);
    expect(first != second, "two slots");
    expect_equal(cache.place(prompt_of(40, 100, 30'000)).placement.slot, first);
    expect_equal(cache.place(next_turn(newer)).placement.n_keep, newer.size());
});

const Test shortest("prefix-cache: of those that share as much, the one with the fewest cells is copied", [] {
    PrefixCache  cache({3, 1, 0});
    const Tokens longer = prompt_of(100, 3'000, 10'000), shorter = prompt_of(100, 50, 20'000);
    for (const Tokens& each : {longer, shorter}) {
        cache.progress(cache.place(each, false).placement.slot, each.size());
    }
    const auto newcomer = cache.place(prompt_of(100, 100, 30'000)).placement;
    expect(newcomer.source == Placement::Source::slot, "a copy");
    expect_equal(newcomer.source_id, 1);
    expect_equal(newcomer.n_keep, size_t{100});
});

const Test too_long("prefix-cache: a little of a long running sequence is computed, and not copied with all the rest", [] {
    PrefixCache  cache({3, 1, 0});
    const Tokens running = prompt_of(100, 10'000, 10'000), prompt = prompt_of(100, 100, 20'000);
    cache.progress(cache.place(running).placement.slot, running.size());
    expect_equal(cache.n_cached_tokens(prompt, nullptr), size_t{0});
    expect_equal(cache.place(prompt).placement.n_keep, size_t{0});
});

const Test forgets("prefix-cache: entries that a sequence with invalid cells started from or left behind are forgotten", [] {
    PrefixCache  cache({3, 10, 10000});
    const Tokens prefix = prompt_of(100, 0, 0), other = prompt_of(0, 100, 5000), mine = prompt_of(100, 50, 700);
    cache.release(cache.place(prefix).placement.slot, prefix, 100);
    cache.release(cache.place(other).placement.slot, other, 100);
    expect_equal(cache.n_cached_tokens(mine, nullptr), size_t{100});
    expect(cache.forget(mine, 0, {}).size() == 1, "the prefix");
    cache.check_invariants();
    expect_equal(cache.n_cached_tokens(mine, nullptr), size_t{0});
    expect_equal(cache.n_cached_tokens(other, nullptr), size_t{99});

    cache.release(cache.place(mine).placement.slot, mine, 150);
    expect(cache.forget(prompt_of(100, 2, 900), 0, {}).empty(), "an entry that only shares tokens stays");
    expect(cache.forget(prompt_of(100, 2, 900), 100, {}).size() == 1, "the entry that the prefix came from");
    cache.check_invariants();
});

}  // namespace
