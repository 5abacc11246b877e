// Thread: engine.
#pragma once

#include "cache-scope.h"
#include "job.h"
#include "media.h"
#include "prefix-tree.h"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace chasqui {

// Positions at which a sequence can be truncated, to continue from an earlier token.
enum class Truncation {
    anywhere,  // after any token: KV cells
    in_place,  // after any token, except in copies, which lack the cells outside the window: sliding-window attention
    never,     // the state can only be used as a whole: recurrent and hybrid models
};

struct PrefixCacheOptions {
    size_t     n_slots            = 4;  // KV sequences
    size_t     bytes_per_token    = 0;  // of a snapshot
    size_t     max_snapshot_bytes = 0;  // for all snapshots together; 0: no snapshots
    size_t     bytes_per_snapshot = 0;  // in addition to the bytes per token: a recurrent state
    Truncation truncation         = Truncation::anywhere;
    size_t     max_cells          = 0;  // in all slots together (scheduler.h); 0: no limit besides that of each slot
};

// How a sequence gets its slot. The steps, in this order: delete the `evicted` snapshots; save the slot's content as
// snapshot `save_as` unless that is -1; load the content of the source into the slot; keep its first `n_keep` tokens
// and remove the others.
struct Placement {
    enum class Source { none, in_place, slot, snapshot };

    int32_t slot      = -1;
    Source  source    = Source::none;
    int32_t source_id = -1;  // of the slot or snapshot
    size_t  n_keep    = 0;
    int32_t last_kept_position = -1, next_position = 0;  // for attention, of the last kept token and of the next one
    int32_t save_as = -1;
    std::vector<int32_t> evicted;  // ids of snapshots
};

enum class PlacementStatus {
    placed,
    no_free_slot,
    prefix_in_flight,  // a running sequence is computing the same prefix; waiting for it is cheaper
};

struct PlacementResult {
    PlacementStatus status;
    Placement       placement;
};

// A snapshot to take: delete the `evicted` ones, then save the slot's content as `id`.
struct Snapshot {
    int32_t              slot = -1;
    int32_t              id   = -1;
    std::vector<int32_t> evicted;
};

// Tracks which tokens have KV cells and reuses them as prefixes of other sequences. It decides what to copy, save and
// evict; the decoder moves the bytes.
//
// Each slot and each snapshot has an entry: a token sequence. Its first `n_computed` tokens have cells. A snapshot is
// a copy of a slot's cells in main memory, taken before another sequence gets the slot. The slot of a running sequence
// is in use; all other entries are idle and evicted in LRU order. If a state can only be used as a whole, snapshots are
// also taken at fixed points while a prompt is computed.
class PrefixCache {
public:
    explicit PrefixCache(const PrefixCacheOptions& options);

    // Finds a slot and the longest usable cached prefix for a sequence with these tokens. At least one token is always
    // left to compute. Without `reuse` no prefix is used. `snapshot_at`: after how many tokens to take snapshots,
    // ascending. `media`: the images among the tokens. A prefix matches only within its scope.
    PlacementResult place(const std::vector<TokenId>& tokens, bool reuse = true,
                          const std::vector<size_t>& snapshot_at = {}, const Media* media = nullptr,
                          const CacheScope& scope = {});
    // How many of these tokens place() would not have to compute.
    size_t n_cached_tokens(const std::vector<TokenId>& tokens, const Media* media,
                           const CacheScope& scope = {}) const;
    // Whether place() would return `prefix_in_flight`.
    bool is_prefix_in_flight(const std::vector<TokenId>& tokens, const Media* media, const CacheScope& scope) const;

    // Other sequences do not wait for the prefix of a paused sequence.
    void set_paused(int32_t slot, bool paused) { entries_.at(slot).paused = paused; }
    // How many more tokens of the slot in use may be computed before its next snapshot is due.
    size_t n_until_snapshot(int32_t slot) const;
    // The first `n_computed` tokens of the slot in use now have cells. Returns the snapshot to take before anything
    // else is computed, if one is due.
    std::optional<Snapshot> progress(int32_t slot, size_t n_computed);
    // The slot's sequence is over or preempted. The first `n_computed` of `tokens` stay cached.
    void release(int32_t slot, const std::vector<TokenId>& tokens, size_t n_computed);
    // Empties idle slots in LRU order until idle slots hold at most `max_tokens`. Unique content becomes a snapshot, as
    // when another sequence gets the slot.
    std::vector<Placement> evict_idle_slots(size_t max_tokens);
    // Registers a snapshot of these tokens that was restored from disk. nullopt if it is cached already or does not
    // fit.
    std::optional<Snapshot> adopt(const std::vector<TokenId>& tokens, const CacheScope& scope);

    // An idle entry: all its tokens are computed. Ids of slots are below `n_slots`.
    struct CachedPrefix {
        int32_t                     id;
        const std::vector<TokenId>* tokens;
        const CacheScope*           scope;
    };
    // The idle entries, most recently used first. Invalidated by every change.
    std::vector<CachedPrefix> idle_prefixes() const;
    // Clears the idle entries that may contain invalid cells of a sequence: those of its first `n_cached` tokens, and the
    // snapshots of its prompt. Returns their ids.
    std::vector<int32_t> forget(const std::vector<TokenId>& tokens, size_t n_cached, const CacheScope& scope);
    // Clears the slot's entry: its cells are undefined after a failed decode or placement.
    void invalidate(int32_t slot) { clear_entry(slot); }

    size_t n_in_use() const { return n_in_use_; }
    // Tokens with cells in all slots, and in the slots in use.
    size_t n_slot_tokens() const;
    size_t n_tokens_in_use() const;
    size_t n_snapshots() const { return entries_.size() - options_.n_slots; }
    // For tests: throws std::logic_error if the entries are inconsistent.
    void check_invariants() const;

private:
    struct Entry {
        std::vector<TokenId> tokens;
        size_t               n_computed  = 0;
        bool                 in_use      = false;
        bool                 paused      = false;
        uint64_t             last_used   = 0;
        std::vector<size_t>  snapshot_at = {};
        size_t               n_copied    = 0;  // of a slot: it cannot be truncated within these tokens (Truncation)
        CacheScope           scope       = {};
    };
    // Slots are 0 ... n_slots - 1, snapshots have ids above.
    using Id = PrefixTree::Holder;

    // The entry to reuse, and the length of the reused prefix.
    struct Hit {
        Id     id       = -1;
        size_t n_tokens = 0;
    };

    // The slot of a sequence, and the prefix that it starts with.
    struct Start {
        Id  slot;
        Hit hit;
    };

    // A free slot, as a choice for a new sequence.
    struct FreeSlot {
        Id       id                = -1;
        size_t   n_free_neighbours = 0;      // an edge counts as free
        bool     is_continued      = false;  // the sequence continues the slot's content
        bool     is_empty          = false;
        uint64_t last_used         = 0;

        bool is_better_than(const FreeSlot& other) const;
    };

    bool   is_slot(Id id) const { return id < static_cast<Id>(options_.n_slots); }
    bool   is_free(Id id) const { return is_slot(id) && !entries_.at(id).in_use; }
    size_t bytes_of(size_t n_tokens) const;
    size_t n_usable(Id id, size_t n_common, bool in_place) const;
    bool   only_usable_in_place(const Hit& hit) const;
    bool   continues_entry(const Hit& hit) const;
    Hit    best_hit_in_any_slot(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                                const Media* media) const;
    Start  choose_start(const Hit& best, const std::vector<TokenId>& tokens,
                        const std::vector<PrefixTree::Match>& matches, const Media* media) const;
    template <typename InPlace>
    Hit    best_hit(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                    const Media* media, const InPlace& in_place) const;
    bool   is_prefix_in_flight(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                               size_t n_cached) const;
    Id     choose_slot(const Hit& hit) const;
    Id     least_recently_used_slot() const;
    void   snapshot_if_unique(Id slot, size_t n_keep, Placement& placement);
    bool   touch_if_cached(const CacheScope& scope, const std::vector<TokenId>& tokens);
    bool   evict_snapshots(size_t bytes, Id except, std::vector<int32_t>& evicted);
    Id     add_snapshot(const CacheScope& scope, std::vector<TokenId> tokens);
    void   set_entry(Id id, const CacheScope& scope, std::vector<TokenId> tokens, size_t n_computed, bool in_use);
    void   clear_entry(Id id);

    std::vector<PrefixTree::Match> find(const CacheScope& scope, const std::vector<TokenId>& tokens) const;

    PrefixCacheOptions    options_;
    std::map<Id, Entry>   entries_;
    Id                    next_snapshot_;
    uint64_t              clock_          = 0;
    size_t                n_in_use_       = 0;
    size_t                snapshot_bytes_ = 0;

    std::map<CacheScope, PrefixTree> trees_;  // no empty ones
};

}  // namespace chasqui
