// Thread: engine.
#pragma once

#include "job.h"
#include "media.h"
#include "prefix-tree.h"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace chasqui {

// Where the cells or the state of a sequence can be cut off, to continue from an earlier token.
enum class Truncation {
    anywhere,  // after any token: KV cells
    in_place,  // after any token, but not in copies, which lack the cells outside the window: sliding-window attention
    never,     // nowhere, the state is of use as a whole only: recurrent and hybrid models
};

struct PrefixCacheOptions {
    size_t     n_slots            = 4;  // KV sequences, each with cells of its own
    size_t     bytes_per_token    = 0;  // of a snapshot
    size_t     max_snapshot_bytes = 0;  // for all snapshots together; 0: none are taken
    size_t     bytes_per_snapshot = 0;  // of a snapshot, in addition to those of its tokens: a recurrent state
    Truncation truncation         = Truncation::anywhere;
    size_t     max_cells          = 0;  // in all slots together (scheduler.h); 0: as many as the slots have
};

// How a sequence gets its slot. The steps, in this order: save what the slot holds as snapshot `save_as`; load what the
// source holds into the slot; keep its first `n_keep` tokens and remove the rest.
struct Placement {
    enum class Source { none, in_place, slot, snapshot };

    int32_t slot      = -1;
    Source  source    = Source::none;
    int32_t source_id = -1;  // of the slot or snapshot
    size_t  n_keep    = 0;
    // Attention's positions of the last token that is kept, and of the next one.
    int32_t              last_kept_position = -1, next_position = 0;
    int32_t              save_as = -1;
    std::vector<int32_t> evicted;  // snapshots to delete first
};

enum class PlacementStatus {
    placed,
    no_free_slot,
    prefix_in_flight,  // a running prompt is computing the same prefix, and to wait for it costs less
};

struct PlacementResult {
    PlacementStatus status;
    Placement       placement;
};

// What the slot holds now is to be saved as snapshot `id`.
struct Snapshot {
    int32_t              slot = -1;
    int32_t              id   = -1;
    std::vector<int32_t> evicted;  // snapshots to delete first
};

// Keeps track of what the KV cells hold, so that no prefix is computed twice. It decides what is copied, saved and
// evicted; the decoder moves the bytes.
//
// Each slot and each snapshot has an entry: a token sequence, the first `n_computed` tokens of which have cells. A
// snapshot is a copy of a slot's cells in main memory, taken before the slot is given to another sequence. The slot of
// a running sequence is in use; all other entries wait to be used again or evicted, least recently used first. Where a
// state is of use as a whole only, snapshots of prompts are also taken while they are computed.
class PrefixCache {
public:
    explicit PrefixCache(const PrefixCacheOptions& options);

    // Finds a slot for a sequence with these tokens and the longest cached prefix that it can use; at least one token
    // is always left to compute. Without `reuse` no prefix is used. `snapshot_at`: after how many tokens to take
    // snapshots, ascending. `media`: the images among the tokens. Prefixes that were computed with other adapters do not
    // count.
    PlacementResult place(const std::vector<TokenId>& tokens, bool reuse = true,
                          const std::vector<size_t>& snapshot_at = {}, const Media* media = nullptr,
                          const AdapterSet& adapters = {});
    // How many of these tokens place() would not have to compute.
    size_t n_cached_tokens(const std::vector<TokenId>& tokens, const Media* media,
                           const AdapterSet& adapters = {}) const;

    // While the slot's sequence is paused, other sequences do not wait for the prefix that it has yet to compute.
    void set_paused(int32_t slot, bool paused);
    // How many more tokens of the slot in use may be computed before its next snapshot is due.
    size_t n_until_snapshot(int32_t slot) const;
    // The first `n_computed` tokens of the slot in use have cells now. Returns the snapshot to take before anything
    // else is computed, if one is due.
    std::optional<Snapshot> progress(int32_t slot, size_t n_computed);
    // The slot's sequence is over or preempted. The first `n_computed` of `tokens` stay cached.
    void release(int32_t slot, const std::vector<TokenId>& tokens, size_t n_computed);
    // Empties slots that are not in use, least recently used first, until such slots hold at most `max_tokens`. What
    // would be lost becomes a snapshot, as when a slot is given to another sequence.
    std::vector<Placement> empty_unused(size_t max_tokens);
    // Enters a snapshot of these tokens that comes from elsewhere. Nothing if there is one already, or no room.
    std::optional<Snapshot> adopt(const std::vector<TokenId>& tokens, const AdapterSet& adapters);

    // What an entry has that is not in use: the tokens are all computed. Slots have ids below `n_slots`.
    struct Held {
        int32_t                     id;
        const std::vector<TokenId>* tokens;
        const AdapterSet*           adapters;
    };
    // Valid until something changes; the most recently used first.
    std::vector<Held> held() const;
    // Clears the slot's entry, because its cells are undefined after a failed decode or placement.
    void invalidate(int32_t slot);

    size_t n_in_use() const { return n_in_use_; }
    // Tokens with cells, of all slots or of those in use.
    size_t n_tokens_held() const;
    size_t n_tokens_in_use() const;
    size_t n_snapshots() const { return entries_.size() - options_.n_slots; }
    // Throws std::logic_error when the entries contradict each other. For tests.
    void check_invariants() const;

private:
    struct Entry {
        std::vector<TokenId> tokens;
        size_t               n_computed  = 0;
        bool                 in_use      = false;
        bool                 paused      = false;
        uint64_t             last_used   = 0;
        std::vector<size_t>  snapshot_at = {};
        size_t               n_copied    = 0;  // of a slot: copied tokens, within which it cannot be truncated
        AdapterSet           adapters    = {};
    };
    // Slots are 0 ... n_slots - 1, snapshots have ids above.
    using Id = PrefixTree::Holder;

    // The entry whose prefix is used, and how many tokens of it.
    struct Hit {
        Id     id       = -1;
        size_t n_tokens = 0;
    };

    // Where a sequence starts: its slot, and what it uses.
    struct Start {
        Id  slot;
        Hit hit;
    };

    bool   is_slot(Id id) const { return id < static_cast<Id>(options_.n_slots); }
    bool   is_free(Id id) const { return is_slot(id) && !entries_.at(id).in_use; }
    size_t bytes_of(size_t n_tokens) const;
    size_t n_usable(Id id, size_t n_common, bool in_place) const;
    bool   only_usable_in_place(const Hit& hit) const;
    bool   keeps_most(const Hit& hit) const;
    Hit    nearest_hit(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                       const Media* media) const;
    Start  choose(const Hit& nearest, const std::vector<TokenId>& tokens,
                  const std::vector<PrefixTree::Match>& matches, const Media* media) const;
    template <typename InPlace>
    Hit    best_hit(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                    const Media* media, const InPlace& in_place) const;
    bool   is_prefix_in_flight(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                               size_t n_cached) const;
    Id     choose_slot(const Hit& hit) const;
    Id     oldest_unused() const;
    void   snapshot_if_unique(Id slot, size_t n_keep, Placement& placement);
    bool   touch_if_cached(const AdapterSet& adapters, const std::vector<TokenId>& tokens);
    bool   evict_snapshots(size_t bytes, Id except, std::vector<int32_t>& evicted);
    Id     add_snapshot(const AdapterSet& adapters, std::vector<TokenId> tokens);
    void   set_entry(Id id, const AdapterSet& adapters, std::vector<TokenId> tokens, size_t n_computed, bool in_use);
    void   clear_entry(Id id);

    std::vector<PrefixTree::Match> find(const AdapterSet& adapters, const std::vector<TokenId>& tokens) const;

    PrefixCacheOptions    options_;
    std::map<Id, Entry>   entries_;
    Id                    next_snapshot_;
    uint64_t              clock_          = 0;
    size_t                n_in_use_       = 0;
    size_t                snapshot_bytes_ = 0;

    std::map<AdapterSet, PrefixTree> trees_;  // none of them empty
};

}  // namespace chasqui
