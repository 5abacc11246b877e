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

// What can be dropped of a state to get back to an earlier token.
enum class CutBack {
    anywhere,  // whatever comes after it: KV cells
    in_place,  // the same, but copies lack what the window has passed by then: KV cells of sliding-window attention
    never,     // nothing, it is of use as a whole only: recurrent and hybrid models
};

struct PrefixCacheOptions {
    size_t n_slots            = 4;  // KV sequences, each with cells of its own
    size_t bytes_per_token    = 0;  // of a snapshot
    size_t max_snapshot_bytes = 0;  // 0: what is evicted is lost
    size_t bytes_per_snapshot = 0;  // beside those of its tokens: a recurrent state
    CutBack cut_back          = CutBack::anywhere;
};

// How a sequence gets its slot. The steps, in this order: save what the slot holds as snapshot `save_as`; load what the
// source holds into the slot; keep its first `n_keep` tokens and drop the rest.
struct Placement {
    enum class Source { none, in_place, slot, snapshot };

    int32_t            slot   = -1;
    Source             source = Source::none;
    int32_t            source_id = -1;  // of the slot or snapshot
    size_t             n_keep    = 0;
    // Attention's positions of the last token that is kept, and of the next one.
    int32_t            last_kept_position = -1, next_position = 0;
    int32_t            save_as   = -1;
    std::vector<int32_t> drop;  // snapshots that had to make room
};

// What a slot holds now is to be saved as snapshot `id`.
struct Snapshot {
    int32_t              slot = -1;
    int32_t              id   = -1;
    std::vector<int32_t> drop;  // snapshots that had to make room
};

// Keeps book of what the KV cells hold, so that nobody computes a beginning that is there already. It decides; the
// decoder moves the bytes.
//
// Every slot and every snapshot (a slot's cells, saved to memory when the slot was given to somebody else) holds a
// token sequence, of which the first `n_ready` are computed. A running sequence's slot is in use; others are parked
// until they are evicted, least recently used first. Where copies are of use as a whole only, snapshots are taken of
// prompts under way as well.
class PrefixCache {
public:
    explicit PrefixCache(const PrefixCacheOptions& options);

    enum class Verdict {
        placed,
        no_slot,   // all slots are in use; one that is released would do
        wait,      // a running prompt is computing the same beginning right now: better wait for it
    };
    struct Answer {
        Verdict   verdict;
        Placement placement;
    };
    // Finds a slot for a sequence with these tokens, at least one of which is left to compute. Without `reuse`, all
    // of them are. `snapshot_at`: after how many tokens to take snapshots on the way, ascending. `media`: the images
    // among the tokens.
    Answer place(const std::vector<TokenId>& tokens, bool reuse = true, const std::vector<size_t>& snapshot_at = {},
                 const Media* media = nullptr);
    // How many tokens place() would find computed.
    size_t n_ready(const std::vector<TokenId>& tokens, const Media* media) const;

    // Whether the slot in use makes no progress for now: nobody waits for what it would compute.
    void set_paused(int32_t slot, bool paused);
    // How many tokens of the slot in use may be computed before a snapshot of it is due.
    size_t n_until_snapshot(int32_t slot) const;
    // The first `n_ready` tokens of the slot in use are computed now. Tells if a snapshot is to be taken before
    // anything else is done.
    std::optional<Snapshot> progress(int32_t slot, size_t n_ready);
    // The slot's sequence is over or preempted: tokens[0, n_ready) stay there, parked.
    void release(int32_t slot, const std::vector<TokenId>& tokens, size_t n_ready);
    // The slot's sequence is over, and what its cells hold is unknown.
    void release_spoilt(int32_t slot);

    size_t n_in_use() const { return n_in_use_; }
    // Tokens with cells: all, and those of sequences that run.
    size_t n_tokens_held() const;
    size_t n_tokens_in_use() const;
    size_t n_snapshots() const { return holdings_.size() - options_.n_slots; }
    // Throws std::logic_error when the books are wrong. For tests.
    void check_invariants() const;

private:
    struct Holding {
        std::vector<TokenId> tokens;
        size_t               n_ready   = 0;
        bool                 in_use    = false;
        bool                 paused    = false;
        uint64_t             last_used = 0;
        std::vector<size_t>  snapshot_at = {};
        size_t               n_copied    = 0;  // of a slot: tokens that were brought in, which cannot be cut back into
    };
    // Slots are 0 ... n_slots - 1, snapshots have ids above.
    using Id = PrefixTree::Holder;

    struct Hit {
        Id     id       = -1;
        size_t n_tokens = 0;
    };

    bool    is_slot(Id id) const { return id < static_cast<Id>(options_.n_slots); }
    size_t  bytes_of(size_t n_tokens) const;
    size_t  n_usable(Id id, size_t n_common) const;
    bool    must_stay(const Hit& hit) const;
    Hit     best_ready(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                       const Media* media) const;
    bool    somebody_computes_more(const std::vector<TokenId>& tokens, const std::vector<PrefixTree::Match>& matches,
                                   size_t n_ready) const;
    Id      choose_slot(const Hit& hit) const;
    size_t  n_runs_with(Id slot) const;
    void    save_if_lost(Id slot, size_t n_keep, Placement& placement);
    bool    is_parked(const std::vector<TokenId>& tokens);
    bool    make_room(size_t bytes, Id except, std::vector<int32_t>& drop);
    Id      add_snapshot(std::vector<TokenId> tokens);
    void    hold(Id id, std::vector<TokenId> tokens, size_t n_ready, bool in_use);
    void    forget(Id id);

    PrefixCacheOptions    options_;
    std::map<Id, Holding> holdings_;
    PrefixTree            tree_;
    Id                    next_snapshot_;
    uint64_t              clock_          = 0;
    size_t                n_in_use_       = 0;
    size_t                snapshot_bytes_ = 0;
};

}  // namespace chasqui
