#include "check.h"

#include "core/prefix-cache.h"

#include <numeric>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Tokens = std::vector<TokenId>;

Tokens prompt_of(size_t n_tokens) {
    Tokens tokens(n_tokens);
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
}

const AdapterSet kNone, kOne = {{0, 1.0f}}, kHalf = {{0, 0.5f}};

const Test other_adapters("prefix-cache: what was computed with some adapters is used with exactly these", [] {
    PrefixCache  cache({4, 1, 5000});
    const Tokens prompt = prompt_of(100), longer = prompt_of(102);
    cache.release(cache.place(prompt, true, {}, nullptr, kOne).placement.slot, prompt, 100);
    expect_equal(cache.n_cached_tokens(longer, nullptr, kOne), size_t{100});
    for (const AdapterSet& other : {kNone, kHalf, AdapterSet{{1, 1.0f}}, AdapterSet{{0, 1.0f}, {1, 1.0f}}}) {
        expect_equal(cache.n_cached_tokens(longer, nullptr, other), size_t{0});
        const Placement placement = cache.place(longer, true, {}, nullptr, other).placement;
        expect_equal(placement.n_keep, size_t{0});
        cache.invalidate(placement.slot);
    }
    expect_equal(cache.place(longer, true, {}, nullptr, kOne).placement.n_keep, size_t{100});
    cache.check_invariants();
});

const Test salted("prefix-cache: sequences with another salt reuse nothing and wait for nothing", [] {
    PrefixCache      cache({4, 1, 5000});
    const Tokens     prompt = prompt_of(100), longer = prompt_of(102);
    const CacheScope mine({}, "a"), adapted(kOne, "a");
    const int32_t    slot = cache.place(prompt, true, {}, nullptr, mine).placement.slot;
    for (const CacheScope& other : {CacheScope(), CacheScope({}, "b"), adapted}) {
        expect(!cache.is_prefix_in_flight(longer, nullptr, other), "does not wait");
    }
    expect(cache.is_prefix_in_flight(longer, nullptr, mine), "waits");
    cache.release(slot, prompt, 100);
    for (const CacheScope& other : {CacheScope(), CacheScope({}, "b"), adapted}) {
        expect_equal(cache.n_cached_tokens(longer, nullptr, other), size_t{0});
    }
    expect_equal(cache.n_cached_tokens(longer, nullptr, mine), size_t{100});
    cache.check_invariants();
});

const Test no_waiting("prefix-cache: nobody waits for a prefix that is computed with other adapters", [] {
    PrefixCache  cache({4, 1, 0});
    const Tokens prompt = prompt_of(100);
    cache.place(prompt, true, {}, nullptr, kOne);
    expect(cache.place(prompt).status == PlacementStatus::placed, "placed");
    expect(cache.place(prompt, true, {}, nullptr, kOne).status == PlacementStatus::prefix_in_flight, "waits");
});

}  // namespace
