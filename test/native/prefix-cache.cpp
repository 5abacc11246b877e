#include "check.h"

#include "core/prefix-cache.h"
#include "core/prefix-tree.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Tokens = std::vector<TokenId>;

size_t common_length(const Tokens& a, const Tokens& b) {
    const auto end = a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
    return static_cast<size_t>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
}

const Test splits("prefix-tree: finds all holders that share a prefix, longest first", [] {
    PrefixTree tree;
    tree.insert(1, {1, 2, 3, 4});
    tree.insert(2, {1, 2, 9});
    tree.insert(3, {7});
    tree.check_invariants();
    expect_equal(tree.n_tokens(), size_t{6});
    const auto matches = tree.find({1, 2, 3, 8});
    expect_equal(matches.size(), size_t{2});
    expect_equal(matches[0].holder, 1);
    expect_equal(matches[0].length, size_t{3});
    expect_equal(matches[1].holder, 2);
    expect_equal(matches[1].length, size_t{2});
    tree.remove(2, {1, 2, 9});
    tree.check_invariants();
    expect_equal(tree.n_tokens(), size_t{5});
});

const Test random_tree("prefix-tree: 10,000 random insertions and removals keep its invariants and find the truth", [] {
    std::mt19937          random(5);
    PrefixTree            tree;
    std::map<int, Tokens> truth;
    const auto            letters = [&] {
        Tokens tokens(1 + random() % 12);
        for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 2);
        return tokens;
    };
    for (int round = 0; round < 10000; ++round) {
        if (truth.size() < 20 && random() % 2 == 0) {
            truth[round] = letters();
            tree.insert(round, truth[round]);
        } else if (!truth.empty()) {
            const auto victim = std::next(truth.begin(), static_cast<std::ptrdiff_t>(random() % truth.size()));
            tree.remove(victim->first, victim->second);
            truth.erase(victim);
        }
        tree.check_invariants();
        const Tokens wanted = letters();
        size_t       found  = 0, last = wanted.size();
        for (const auto& match : tree.find(wanted)) {
            expect_equal(match.length, common_length(wanted, truth.at(match.holder)));
            expect(match.length <= last, "longest first");
            last = match.length;
            ++found;
        }
        const auto shares = [&](const auto& each) { return each.second.front() == wanted.front(); };
        expect_equal(found, static_cast<size_t>(std::count_if(truth.begin(), truth.end(), shares)));
    }
});

Tokens count_up(TokenId from, size_t n) {
    Tokens tokens(n);
    for (TokenId& token : tokens) token = from++;
    return tokens;
}

Tokens join(Tokens a, const Tokens& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

const Test next_turn("prefix-cache: the next turn of a conversation goes on where the last one ended", [] {
    PrefixCache  cache({4, 1, 0});
    const Tokens first = count_up(0, 100);
    const auto   one   = cache.place(first).placement;
    expect_equal(one.n_keep, size_t{0});
    const Tokens with_completion = join(first, count_up(500, 20));
    cache.release(one.slot, with_completion, 119);
    const auto two = cache.place(join(with_completion, count_up(900, 30))).placement;
    expect(two.source == Placement::Source::in_place, "in place");
    expect_equal(two.slot, one.slot);
    expect_equal(two.n_keep, size_t{119});
});

const Test same_prompt("prefix-cache: of a prompt that is all there, the last token is computed again", [] {
    PrefixCache  cache({2, 1, 0});
    const Tokens prompt = count_up(0, 100);
    const auto   one    = cache.place(prompt).placement;
    cache.release(one.slot, prompt, 100);
    expect_equal(cache.place(prompt).placement.n_keep, size_t{99});
});

const Test few_tokens("prefix-cache: a few tokens are kept only where they are most of the prompt", [] {
    for (const auto& [n_common, n_kept] : {std::pair<TokenId, size_t>{4, 0}, {15, 0}, {16, 16}, {51, 51}}) {
        PrefixCache  cache({1, 1, 0});
        const Tokens first = join(count_up(0, n_common), count_up(500, 100));
        cache.release(cache.place(first).placement.slot, first, first.size());
        expect_equal(cache.place(join(count_up(0, n_common), count_up(900, 50))).placement.n_keep, n_kept);
    }
    PrefixCache  cache({1, 1, 0});
    const Tokens first = count_up(0, 10);
    cache.release(cache.place(first).placement.slot, first, first.size());
    expect_equal(cache.place(first).placement.n_keep, size_t{9});
});

const Test leaves_alone("prefix-cache: a prompt that shares few tokens with a cached one takes an empty slot", [] {
    PrefixCache  cache({3, 1, 0});
    const Tokens first = join(count_up(0, 8), count_up(500, 100));
    const auto   one   = cache.place(first).placement;
    cache.release(one.slot, first, first.size());
    const auto two = cache.place(join(count_up(0, 8), count_up(900, 50))).placement;
    expect(two.slot != one.slot, "another slot");
    cache.release(two.slot, {}, 0);
    expect_equal(cache.place(join(first, {7, 7})).placement.n_keep, first.size());
});

const Test together("prefix-cache: of prompts that arrive together, one computes the shared prefix", [] {
    PrefixCache  cache({4, 1, 0});
    const Tokens common = count_up(0, 200);
    const auto   one    = cache.place(join(common, {1000, 1001})).placement;
    const Tokens second = join(common, {2000, 2001});
    expect(cache.place(second).status == PlacementStatus::prefix_in_flight, "wait");
    cache.progress(one.slot, 150);
    expect(cache.place(second).status == PlacementStatus::prefix_in_flight, "still wait");
    cache.progress(one.slot, 200);
    const auto result = cache.place(second);
    expect(result.status == PlacementStatus::placed, "placed");
    expect(result.placement.source == Placement::Source::slot, "copied from the running slot");
    expect_equal(result.placement.source_id, one.slot);
    expect_equal(result.placement.n_keep, size_t{200});
});

const Test unrelated("prefix-cache: a prompt that shares little does not wait", [] {
    PrefixCache cache({4, 1, 0});
    cache.place(join(count_up(0, 20), count_up(500, 100)));
    expect(cache.place(join(count_up(0, 20), count_up(900, 100))).status == PlacementStatus::placed, "placed");
});

const Test close_together("prefix-cache: slots in use stay together", [] {
    PrefixCache          cache({6, 1, 0});
    std::vector<int32_t> slots;
    for (TokenId i = 0; i < 3; ++i) slots.push_back(cache.place(count_up(1000 * i, 50)).placement.slot);
    cache.release(slots[1], count_up(1000, 50), 50);
    expect_equal(cache.place(count_up(7000, 50)).placement.slot, slots[1]);
});

const Test evicts("prefix-cache: without gaps to fill, the least recently used slot is given away", [] {
    PrefixCache cache({3, 1, 0});
    for (TokenId i = 0; i < 3; ++i) {
        const auto placement = cache.place(count_up(1000 * i, 50)).placement;
        cache.release(placement.slot, count_up(1000 * i, 50), 50);
    }
    const auto again = cache.place(count_up(0, 60)).placement;  // uses the first once more
    expect_equal(again.n_keep, size_t{50});
    cache.release(again.slot, count_up(0, 60), 60);
    cache.place(count_up(9000, 50));
    expect_equal(cache.place(count_up(0, 70)).placement.n_keep, size_t{60});
});

const Test snapshots("prefix-cache: what is evicted is saved, and found again", [] {
    PrefixCache  cache({1, 10, 10000});
    const Tokens mine = count_up(0, 100);
    cache.place(mine);
    cache.release(0, mine, 100);
    const auto other = cache.place(count_up(5000, 100)).placement;
    expect(other.save_as >= 1, "saved");
    cache.release(0, count_up(5000, 100), 100);
    const auto back = cache.place(join(mine, {7})).placement;
    expect(back.source == Placement::Source::snapshot, "from the snapshot");
    expect_equal(back.source_id, other.save_as);
    expect_equal(back.n_keep, size_t{100});
    cache.check_invariants();
});

const Test exact("prefix-cache: a state that cannot be truncated is used as a whole or not at all", [] {
    PrefixCache  cache({2, 1, 0, 0, Truncation::never});
    const Tokens prompt = count_up(0, 100);
    cache.place(prompt);
    cache.release(0, prompt, 100);
    const auto shorter = cache.place(count_up(0, 90)).placement;
    expect_equal(shorter.n_keep, size_t{0});
    cache.invalidate(shorter.slot);
    expect_equal(cache.place(count_up(0, 120)).placement.n_keep, size_t{100});
});

const Test windows("prefix-cache: with sliding windows, cells can be truncated in place only", [] {
    PrefixCache  cache({3, 1, 0, 0, Truncation::in_place});
    const Tokens prompt = count_up(0, 100);
    cache.place(prompt);
    cache.progress(0, 100);
    const auto beside = cache.place(join(count_up(0, 90), count_up(500, 20))).placement;
    expect_equal(beside.n_keep, size_t{0});
    cache.invalidate(beside.slot);
    expect_equal(cache.place(join(prompt, {7})).placement.n_keep, size_t{100});
    cache.release(0, prompt, 100);
    const auto in_place = cache.place(count_up(0, 90)).placement;
    expect_equal(in_place.slot, 0);
    expect_equal(in_place.n_keep, size_t{89});
});

const Test on_the_way("prefix-cache: where states cannot be truncated, snapshots are taken during the prompt", [] {
    PrefixCache  cache({3, 0, 5000, 1000, Truncation::never});
    const Tokens common = count_up(0, 100);
    const auto   one    = cache.place(join(common, count_up(500, 60)), true, {100, 150}).placement;
    expect_equal(cache.n_until_snapshot(one.slot), size_t{100});
    expect(!cache.progress(one.slot, 40), "not yet");
    expect_equal(cache.n_until_snapshot(one.slot), size_t{60});
    const Tokens other = join(common, count_up(700, 60));
    expect(cache.place(other).status == PlacementStatus::prefix_in_flight, "wait for the snapshot");
    const auto snapshot = cache.progress(one.slot, 100);
    expect(snapshot && snapshot->slot == one.slot && snapshot->evicted.empty(), "a snapshot of the slot");
    cache.progress(one.slot, 130);
    const auto two = cache.place(other).placement;
    expect(two.source == Placement::Source::snapshot && two.source_id == snapshot.value().id, "from the snapshot");
    expect_equal(two.n_keep, size_t{100});
    cache.check_invariants();
});

const Test lost("prefix-cache: a state is saved though a running sequence has it, which is about to advance it", [] {
    PrefixCache  cache({2, 0, 5000, 1000, Truncation::never});
    const Tokens prompt = count_up(0, 100);
    cache.place(prompt);
    cache.release(0, prompt, 100);
    const auto running = cache.place(join(prompt, count_up(500, 20)), false).placement;
    expect_equal(running.slot, 1);
    cache.progress(running.slot, 100);
    expect(cache.place(count_up(900, 100)).placement.save_as >= 0, "saved");
});

const Test once("prefix-cache: no prefix is saved twice, and none without memory for it", [] {
    const Tokens prompt = count_up(0, 100);
    PrefixCache  cache({2, 0, 5000, 1000, Truncation::never});
    cache.place(prompt, true, {50});
    expect(cache.progress(0, 50).has_value(), "kept");
    cache.place(join(count_up(0, 50), count_up(700, 20)), false, {50});
    expect_equal(cache.n_until_snapshot(1), std::numeric_limits<size_t>::max());
    cache.release(0, prompt, 100);
    cache.invalidate(1);
    const auto again = cache.place(count_up(0, 60), true, {50}).placement;
    expect_equal(again.n_keep, size_t{50});
    expect(!cache.progress(again.slot, 50), "not again");
    PrefixCache small({1, 0, 999, 1000, Truncation::never});
    small.place(prompt, true, {50});
    expect_equal(small.n_until_snapshot(0), std::numeric_limits<size_t>::max());
});

const Test oldest_goes("prefix-cache: snapshots are evicted least recently used first, by their real size", [] {
    PrefixCache cache({1, 1, 2200, 1000, Truncation::never});
    const auto  keep = [&](TokenId from) {
        const Tokens prompt   = count_up(from, 100);
        const auto   placed   = cache.place(prompt, true, {50}).placement;
        auto         snapshot = cache.progress(placed.slot, 50);
        cache.invalidate(placed.slot);
        return snapshot;
    };
    const auto first = keep(0), second = keep(1000);
    expect_equal(cache.n_snapshots(), size_t{2});
    expect_equal(cache.place(count_up(0, 100)).placement.source_id, first.value().id);
    cache.invalidate(0);
    expect_equal(keep(2000).value().evicted.at(0), second.value().id);
    cache.check_invariants();
});

const AdapterSet kNone, kOne = {{0, 1.0f}};

// Cells of other adapters are other cells.
Tokens cells_of(Tokens tokens, const AdapterSet& adapters) {
    for (TokenId& token : tokens) token += adapters.empty() ? 0 : 1000;
    return tokens;
}

// The cells, as the decoder would have them: what each slot and each snapshot really holds.
struct Cells {
    Truncation                truncation;
    std::map<int32_t, Tokens> slots, snapshots;
    std::map<int32_t, size_t> n_copied;  // by slot: tokens that came from elsewhere

    void apply(const Snapshot& snapshot) {
        for (const int32_t id : snapshot.evicted) expect_equal(snapshots.erase(id), size_t{1});
        expect(snapshots.emplace(snapshot.id, slots.at(snapshot.slot)).second, "a new snapshot");
    }

    void apply(const Placement& placement) {
        for (const int32_t id : placement.evicted) expect_equal(snapshots.erase(id), size_t{1});
        Tokens& slot = slots[placement.slot];
        if (placement.save_as >= 0) snapshots[placement.save_as] = slot;
        switch (placement.source) {
            case Placement::Source::none: slot.clear(); break;
            case Placement::Source::in_place: break;
            case Placement::Source::slot: slot = slots.at(placement.source_id); break;
            case Placement::Source::snapshot: slot = snapshots.at(placement.source_id); break;
        }
        expect(slot.size() >= placement.n_keep, "as many cells as are to be kept");
        const bool in_place = placement.source == Placement::Source::in_place;
        if (!in_place) n_copied[placement.slot] = placement.n_keep;
        const bool is_whole = in_place && placement.n_keep >= n_copied[placement.slot];
        const bool can_truncate =
            truncation == Truncation::anywhere || (truncation == Truncation::in_place && is_whole);
        expect(can_truncate || slot.size() == placement.n_keep || placement.n_keep == 0, "a state as a whole");
        slot.resize(placement.n_keep);
    }
};

struct Running {
    Tokens     tokens;
    size_t     n_computed = 0;
    AdapterSet adapters;
};

void random_rounds(uint32_t seed, Truncation truncation) {
    std::mt19937               random(seed);
    PrefixCache                cache({4, 10, 3000, truncation == Truncation::never ? size_t{300} : 0, truncation});
    Cells                      cells{truncation, {}, {}, {}};
    std::map<int32_t, Running> running;
    size_t                     n_snapshots = 0;  // taken while prompts are computed
    for (int round = 0; round < 10000; ++round) {
        const auto below = [&](size_t n) { return random() % n; };
        const auto kind  = below(4);
        if (kind == 0) {  // submit: a few prefixes, so that much is shared
            Tokens tokens(20 + 40 * below(3), static_cast<TokenId>(below(2)));
            for (size_t i = below(40); i > 0; --i) tokens.push_back(static_cast<TokenId>(below(2)));
            std::vector<size_t> points;
            const bool takes_snapshots = truncation != Truncation::anywhere;
            for (size_t at = 1 + below(60); takes_snapshots && at < tokens.size(); at += 1 + below(60)) {
                points.push_back(at);
            }
            const AdapterSet adapters = below(3) == 0 ? kOne : kNone;
            const auto       result   = cache.place(tokens, below(10) > 0, points, nullptr, adapters);
            if (result.status != PlacementStatus::placed) {
                expect(!running.empty(), "an idle cache refuses no prompt");
                continue;
            }
            const Placement& placement = result.placement;
            expect(running.count(placement.slot) == 0, "a slot of its own");
            cells.apply(placement);
            expect_equal(cells.snapshots.size(), cache.n_snapshots());
            expect(placement.n_keep < tokens.size(), "at least one token to compute");
            expect_equal(common_length(cells.slots[placement.slot], cells_of(tokens, adapters)), placement.n_keep);
            running[placement.slot] = {tokens, placement.n_keep, adapters};
        } else if (!running.empty()) {
            const auto   each = std::next(running.begin(), static_cast<std::ptrdiff_t>(below(running.size())));
            Running&     sequence = each->second;
            const auto   slot     = each->first;
            if (kind <= 2) {  // grow: compute what is pending, or sample a token
                if (sequence.n_computed == sequence.tokens.size()) {
                    sequence.tokens.push_back(static_cast<TokenId>(below(2)));
                }
                const size_t n_pending = sequence.tokens.size() - sequence.n_computed;
                const size_t n_max     = std::min(n_pending, cache.n_until_snapshot(slot));
                sequence.n_computed += 1 + below(n_max);
                const auto end = sequence.tokens.begin() + static_cast<std::ptrdiff_t>(sequence.n_computed);
                cells.slots[slot] = cells_of({sequence.tokens.begin(), end}, sequence.adapters);
                const auto snapshot = cache.progress(slot, sequence.n_computed);
                if (snapshot) cells.apply(*snapshot);
                n_snapshots += snapshot ? 1 : 0;
                expect_equal(cells.snapshots.size(), cache.n_snapshots());
            } else {  // finish, cancel or be preempted
                if (below(10) == 0) {
                    cache.invalidate(slot);
                    cells.slots[slot].clear();
                } else {
                    cache.release(slot, sequence.tokens, sequence.n_computed);
                }
                running.erase(each);
            }
        }
        if (round % 7 == 0) cache.check_invariants();
        expect_equal(cache.n_in_use(), running.size());
    }
    expect_equal(n_snapshots > 0, truncation != Truncation::anywhere);
}

const Test random_cache("prefix-cache: 10,000 random rounds of submit, grow, finish: cells match the entries", [] {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
        try {
            for (const Truncation each : {Truncation::anywhere, Truncation::in_place, Truncation::never}) {
                random_rounds(seed, each);
            }
        } catch (const std::exception& error) {
            fail("seed " + std::to_string(seed) + ": " + error.what());
        }
    }
});

}  // namespace
