#include "prefix-cache.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace chasqui {

namespace {

// Copying fewer tokens than this costs more than computing them.
constexpr size_t kMinCopiedTokens = 16;
// Copying this many cells takes less time than computing one token. A copy includes the cells that are removed
// afterwards. An 8B model on a CPU needs at least 5 ms per token, and its 128 KiB are read and written twice.
constexpr size_t kCopiesPerComputedToken = 32;
// A sequence waits for another one's prefix, and content is saved as a snapshot, only if this saves so many tokens.
constexpr size_t kMinSharedTokens = 32;
// A running sequence may be this many tokens (one step) past a shared prefix by the time another one can copy it.
constexpr size_t kMaxStepTokens = 2048;
// A sequence recomputes up to this many tokens to leave another conversation's slot alone.
constexpr size_t kMaxRecomputedTokens = 256;

// The few tokens that every chat starts with are recomputed. Using them would even cost time: llama.cpp batches prompts
// only while they have equally many tokens left, so prompts of equal length would be computed in parts, each with its
// own pass over the weights (8 x 80 tokens of the 0.5B model of bench:peers: 1,258 instead of 1,169 ms).
bool is_worth_keeping(size_t n_common, size_t n_tokens) {
    return n_common >= kMinCopiedTokens || 2 * n_common > n_tokens;
}

}  // namespace

PrefixCache::PrefixCache(const PrefixCacheOptions& options)
    : options_(options), next_snapshot_(static_cast<Id>(options.n_slots)) {
    for (Id slot = 0; is_slot(slot); ++slot) entries_[slot] = {};
}

PlacementResult PrefixCache::place(const std::vector<TokenId>& tokens, bool reuse,
                                   const std::vector<size_t>& snapshot_at, const Media* media,
                                   const CacheScope& scope) {
    const auto matches = reuse ? find(scope, tokens) : std::vector<PrefixTree::Match>();
    const Hit  best    = best_hit_in_any_slot(tokens, matches, media);
    if (is_prefix_in_flight(tokens, matches, best.n_tokens)) return {PlacementStatus::prefix_in_flight, {}};
    if (n_in_use() == options_.n_slots) return {PlacementStatus::no_free_slot, {}};
    const auto [slot, hit] = choose_start(best, tokens, matches, media);

    Placement placement;
    placement.slot      = slot;
    const bool in_place = hit.id == slot;
    if (hit.n_tokens > 0) {
        placement.n_keep    = hit.n_tokens;
        placement.source_id = hit.id;
        placement.source    = in_place          ? Placement::Source::in_place
                              : is_slot(hit.id) ? Placement::Source::slot
                                                : Placement::Source::snapshot;
        entries_[hit.id].last_used   = ++clock_;
        placement.next_position      = media ? media->position(hit.n_tokens) : static_cast<int32_t>(hit.n_tokens);
        placement.last_kept_position =
            media ? media->position(hit.n_tokens - 1) : static_cast<int32_t>(hit.n_tokens) - 1;
    }
    snapshot_if_unique(slot, in_place ? placement.n_keep : 0, placement);
    const size_t n_copied = in_place ? entries_.at(slot).n_copied : placement.n_keep;
    clear_entry(slot);
    set_entry(slot, scope, tokens, placement.n_keep, true);
    entries_.at(slot).n_copied = n_copied;
    for (const size_t point : snapshot_at) {
        const bool is_possible = bytes_of(point) <= options_.max_snapshot_bytes;
        if (reuse && is_possible) entries_.at(slot).snapshot_at.push_back(point);
    }
    return {PlacementStatus::placed, placement};
}

// The best hit if the sequence could have any free slot.
PrefixCache::Hit PrefixCache::best_hit_in_any_slot(const std::vector<TokenId>&           tokens,
                                                   const std::vector<PrefixTree::Match>& matches,
                                                   const Media*                          media) const {
    return best_hit(tokens, matches, media, [this](Id id) { return is_free(id); });
}

// The slot for these tokens (-1: none is free), and the hit in that slot. `best`: of best_hit_in_any_slot(). Its prefix
// has to be copied if another slot is chosen.
PrefixCache::Start PrefixCache::choose_start(const Hit& best, const std::vector<TokenId>& tokens,
                                             const std::vector<PrefixTree::Match>& matches, const Media* media) const {
    const Id slot = choose_slot(best);
    if (best.n_tokens == 0 || best.id == slot) return {slot, best};
    const Hit hit = best_hit(tokens, matches, media, [slot](Id id) { return id == slot; });
    if (only_usable_in_place(best) && best.n_tokens > hit.n_tokens + kMaxRecomputedTokens) return {best.id, best};
    return {slot, hit};
}

size_t PrefixCache::bytes_of(size_t n_tokens) const {
    return options_.bytes_per_snapshot + n_tokens * options_.bytes_per_token;
}

// How many tokens of the entry a sequence can use, in place or as a copy, if they have the first `n_common` in common.
size_t PrefixCache::n_usable(Id id, size_t n_common, bool in_place) const {
    const Entry& entry    = entries_.at(id);
    const size_t n_shared = std::min(n_common, entry.n_computed);
    if (options_.truncation == Truncation::anywhere || n_shared == entry.n_computed) return n_shared;
    return in_place && options_.truncation == Truncation::in_place && n_shared >= entry.n_copied ? n_shared : 0;
}

bool PrefixCache::only_usable_in_place(const Hit& hit) const {
    if (options_.truncation == Truncation::anywhere) return false;
    return hit.n_tokens > 0 && hit.n_tokens < entries_.at(hit.id).n_computed;
}

// Whether the sequence continues the entry, rather than sharing only a short prefix with it.
bool PrefixCache::continues_entry(const Hit& hit) const {
    return hit.n_tokens > 0 && 2 * hit.n_tokens >= entries_.at(hit.id).n_computed;
}

std::vector<PrefixTree::Match> PrefixCache::find(const CacheScope&           scope,
                                                 const std::vector<TokenId>& tokens) const {
    const auto tree = trees_.find(scope);
    return tree == trees_.end() ? std::vector<PrefixTree::Match>() : tree->second.find(tokens);
}

size_t PrefixCache::n_cached_tokens(const std::vector<TokenId>& tokens, const Media* media,
                                    const CacheScope& scope) const {
    const auto matches = find(scope, tokens);
    const Hit  best    = best_hit_in_any_slot(tokens, matches, media);
    return best.n_tokens == 0 ? 0 : choose_start(best, tokens, matches, media).hit.n_tokens;
}

bool PrefixCache::is_prefix_in_flight(const std::vector<TokenId>& tokens, const Media* media,
                                      const CacheScope& scope) const {
    const auto matches = find(scope, tokens);
    return is_prefix_in_flight(tokens, matches, best_hit_in_any_slot(tokens, matches, media).n_tokens);
}

// The entry that saves the most computation; no entry if computing the tokens is as cheap. At least one token is always
// left to compute, because its logits are needed. `in_place(id)`: whether that entry would be used without a copy.
template <typename InPlace>
PrefixCache::Hit PrefixCache::best_hit(const std::vector<TokenId>&           tokens,
                                       const std::vector<PrefixTree::Match>& matches, const Media* media,
                                       const InPlace& in_place) const {
    Hit    best;
    size_t best_saved = 0;
    int    best_rank  = 0;
    for (const auto& [id, length] : matches) {
        const Entry& entry     = entries_.at(id);
        const bool   is_copied = !in_place(id);
        size_t       usable    = n_usable(id, std::min(length, tokens.size() - 1), !is_copied);
        if (media != nullptr && media->resumable(usable) < usable) {
            usable = n_usable(id, media->resumable(usable), !is_copied);
        }
        if (!is_worth_keeping(usable, tokens.size()) || (is_copied && usable < kMinCopiedTokens)) continue;
        const size_t cost = is_copied ? entry.n_computed / kCopiesPerComputedToken : 0;
        if (usable <= cost) continue;
        // Tie-break: a slot that can be used in place, then another slot, then a snapshot.
        const size_t saved = usable - cost;
        const int    rank  = !is_slot(id) ? 0 : is_copied ? 1 : 2;
        if (saved > best_saved || (saved == best_saved && rank > best_rank)) {
            best       = {id, usable};
            best_saved = saved;
            best_rank  = rank;
        }
    }
    return best;
}

// Whether a running sequence is about to compute a longer prefix of these tokens than the `n_cached` cached ones.
bool PrefixCache::is_prefix_in_flight(const std::vector<TokenId>&           tokens,
                                      const std::vector<PrefixTree::Match>& matches, size_t n_cached) const {
    for (const auto& [id, length] : matches) {
        const Entry& entry = entries_.at(id);
        if (!entry.in_use || entry.paused) continue;
        size_t n_common = std::min(length, tokens.size() - 1);
        // If states cannot be truncated, only the last snapshot before the sequences diverge can be used.
        if (options_.truncation != Truncation::anywhere) {
            const auto& points = entry.snapshot_at;
            const auto  beyond = std::upper_bound(points.begin(), points.end(), n_common);
            n_common           = beyond == points.begin() ? 0 : *std::prev(beyond);
        }
        const size_t n_copied   = std::min(entry.tokens.size(), n_common + kMaxStepTokens);
        const bool   is_cheaper = n_common > n_copied / kCopiesPerComputedToken;
        const bool   is_longer  = n_common >= n_cached + kMinSharedTokens;
        if (entry.n_computed < n_common && is_cheaper && is_longer) return true;
    }
    return false;
}

// First of all, no gaps between the slots in use: every gap costs llama.cpp another pass over the weights in each step.
bool PrefixCache::FreeSlot::is_better_than(const FreeSlot& other) const {
    if (n_free_neighbours != other.n_free_neighbours) return n_free_neighbours < other.n_free_neighbours;
    if (is_continued != other.is_continued) return is_continued;
    if (is_empty != other.is_empty) return is_empty;
    return last_used < other.last_used;
}

// The best free slot; -1: none is free. A request that shares only a short prefix with a conversation takes over that
// slot only if no slot is empty, or if doing so avoids a gap.
PrefixCache::Id PrefixCache::choose_slot(const Hit& hit) const {
    const bool continues = continues_entry(hit);
    FreeSlot   best;
    for (Id slot = 0; is_slot(slot); ++slot) {
        if (!is_free(slot)) continue;
        const Entry& entry = entries_.at(slot);
        const size_t n_free =
            (slot == 0 || is_free(slot - 1) ? 1 : 0) + (!is_slot(slot + 1) || is_free(slot + 1) ? 1 : 0);
        const FreeSlot candidate{slot, n_free, continues && slot == hit.id, entry.tokens.empty(), entry.last_used};
        if (best.id < 0 || candidate.is_better_than(best)) best = candidate;
    }
    return only_usable_in_place(hit) && (continues || !best.is_empty) ? hit.id : best.id;
}

// Plans a snapshot of the slot's content beyond `n_keep`, unless another entry has it too.
void PrefixCache::snapshot_if_unique(Id slot, size_t n_keep, Placement& placement) {
    const Entry& lost = entries_.at(slot);
    if (lost.n_computed < n_keep + kMinSharedTokens) return;
    for (const auto& [id, length] : find(lost.scope, lost.tokens)) {
        // The state of a running sequence advances and cannot be truncated, so it does not preserve this prefix.
        const bool advances = options_.truncation != Truncation::anywhere && entries_.at(id).in_use;
        if (id != slot && !advances && n_usable(id, length, is_free(id)) + kMinSharedTokens > lost.n_computed) return;
    }
    if (!evict_snapshots(bytes_of(lost.n_computed), placement.source_id, placement.evicted)) return;
    placement.save_as = add_snapshot(lost.scope, lost.tokens);
}

PrefixCache::Id PrefixCache::add_snapshot(const CacheScope& scope, std::vector<TokenId> tokens) {
    const size_t n_tokens = tokens.size();
    snapshot_bytes_ += bytes_of(n_tokens);
    set_entry(next_snapshot_, scope, std::move(tokens), n_tokens, false);
    return next_snapshot_++;
}

// Evicts snapshots other than `except` until `bytes` more fit. False if they cannot fit.
bool PrefixCache::evict_snapshots(size_t bytes, Id except, std::vector<int32_t>& evicted) {
    if (bytes == 0 || bytes > options_.max_snapshot_bytes) return false;
    while (snapshot_bytes_ + bytes > options_.max_snapshot_bytes) {
        auto oldest = entries_.end();
        for (auto each = entries_.lower_bound(static_cast<Id>(options_.n_slots)); each != entries_.end(); ++each) {
            if (each->first == except) continue;
            if (oldest == entries_.end() || each->second.last_used < oldest->second.last_used) oldest = each;
        }
        if (oldest == entries_.end()) return false;
        const Id id = oldest->first;
        snapshot_bytes_ -= bytes_of(oldest->second.n_computed);
        evicted.push_back(id);
        clear_entry(id);
        entries_.erase(id);
    }
    return true;
}

size_t PrefixCache::n_until_snapshot(int32_t slot) const {
    const Entry& running = entries_.at(slot);
    const auto   next    = std::upper_bound(running.snapshot_at.begin(), running.snapshot_at.end(), running.n_computed);
    return next == running.snapshot_at.end() ? std::numeric_limits<size_t>::max() : *next - running.n_computed;
}

std::optional<Snapshot> PrefixCache::progress(int32_t slot, size_t n_computed) {
    Entry& running     = entries_.at(slot);
    running.n_computed = n_computed;
    const auto& points = running.snapshot_at;
    if (!std::binary_search(points.begin(), points.end(), n_computed)) return std::nullopt;
    const auto           end = running.tokens.begin() + static_cast<std::ptrdiff_t>(n_computed);
    std::vector<TokenId> tokens(running.tokens.begin(), end);
    Snapshot             snapshot;
    const CacheScope     scope = running.scope;
    if (touch_if_cached(scope, tokens) || !evict_snapshots(bytes_of(n_computed), -1, snapshot.evicted)) return std::nullopt;
    snapshot.slot = slot;
    snapshot.id   = add_snapshot(scope, std::move(tokens));
    return snapshot;
}

// Whether an idle entry has exactly these tokens. Marks it as just used.
bool PrefixCache::touch_if_cached(const CacheScope& scope, const std::vector<TokenId>& tokens) {
    for (const auto& [id, length] : find(scope, tokens)) {
        Entry& entry = entries_.at(id);
        if (entry.in_use || length != tokens.size() || entry.tokens.size() != tokens.size()) continue;
        entry.last_used = ++clock_;
        return true;
    }
    return false;
}

void PrefixCache::release(int32_t slot, const std::vector<TokenId>& tokens, size_t n_computed) {
    const size_t     n_copied = entries_.at(slot).n_copied;
    const CacheScope scope = entries_.at(slot).scope;
    clear_entry(slot);
    set_entry(slot, scope, {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n_computed)}, n_computed, false);
    entries_.at(slot).n_copied = n_copied;
}

std::vector<Placement> PrefixCache::evict_idle_slots(size_t max_tokens) {
    std::vector<Placement> emptied;
    while (n_slot_tokens() - n_tokens_in_use() > max_tokens) {
        Placement placement;
        placement.slot = least_recently_used_slot();
        snapshot_if_unique(placement.slot, 0, placement);
        clear_entry(placement.slot);
        emptied.push_back(std::move(placement));
    }
    return emptied;
}

// Among the idle slots with content.
PrefixCache::Id PrefixCache::least_recently_used_slot() const {
    Id oldest = -1;
    for (Id slot = 0; is_slot(slot); ++slot) {
        const Entry& entry = entries_.at(slot);
        if (entry.in_use || entry.n_computed == 0) continue;
        if (oldest < 0 || entry.last_used < entries_.at(oldest).last_used) oldest = slot;
    }
    return oldest;
}

std::optional<Snapshot> PrefixCache::adopt(const std::vector<TokenId>& tokens, const CacheScope& scope) {
    Snapshot snapshot;
    if (touch_if_cached(scope, tokens) || !evict_snapshots(bytes_of(tokens.size()), -1, snapshot.evicted)) {
        return std::nullopt;
    }
    snapshot.id = add_snapshot(scope, tokens);
    return snapshot;
}

std::vector<PrefixCache::CachedPrefix> PrefixCache::idle_prefixes() const {
    std::vector<std::pair<uint64_t, CachedPrefix>> by_use;
    for (const auto& [id, entry] : entries_) {
        if (entry.in_use || entry.tokens.empty()) continue;
        by_use.push_back({entry.last_used, {id, &entry.tokens, &entry.scope}});
    }
    std::sort(by_use.begin(), by_use.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<CachedPrefix> prefixes;
    for (const auto& each : by_use) prefixes.push_back(each.second);
    return prefixes;
}

void PrefixCache::set_entry(Id id, const CacheScope& scope, std::vector<TokenId> tokens, size_t n_computed,
                            bool in_use) {
    if (!tokens.empty()) trees_[scope].insert(id, tokens);
    n_in_use_ += in_use ? 1 : 0;
    entries_[id] = {std::move(tokens), n_computed, in_use, false, ++clock_, {}, 0, scope};
}

void PrefixCache::clear_entry(Id id) {
    Entry& entry = entries_.at(id);
    const auto tree = entry.tokens.empty() ? trees_.end() : trees_.find(entry.scope);
    if (tree != trees_.end()) {
        tree->second.remove(id, entry.tokens);
        if (tree->second.is_empty()) trees_.erase(tree);
    }
    n_in_use_ -= entry.in_use ? 1 : 0;
    entry = {};
}

size_t PrefixCache::n_slot_tokens() const {
    size_t n_tokens = 0;
    for (Id slot = 0; is_slot(slot); ++slot) n_tokens += entries_.at(slot).n_computed;
    return n_tokens;
}

size_t PrefixCache::n_tokens_in_use() const {
    size_t n_tokens = 0;
    for (Id slot = 0; is_slot(slot); ++slot) {
        if (entries_.at(slot).in_use) n_tokens += entries_.at(slot).n_computed;
    }
    return n_tokens;
}

void PrefixCache::check_invariants() const {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::logic_error(std::string("prefix cache: ") + what);
    };
    for (const auto& [scope, tree] : trees_) {
        tree.check_invariants();
        require(!tree.is_empty(), "a tree is empty");
    }
    size_t bytes = 0, in_use = 0;
    for (const auto& [id, entry] : entries_) {
        in_use += entry.in_use ? 1 : 0;
        if (!is_slot(id)) bytes += bytes_of(entry.n_computed);
        require(is_slot(id) || (!entry.in_use && entry.n_computed == entry.tokens.size()), "a snapshot changed");
        if (entry.tokens.empty()) continue;
        bool is_in_tree = false;
        for (const auto& [other, length] : find(entry.scope, entry.tokens)) {
            require(entries_.count(other) == 1, "a tree refers to a deleted entry");
            require(entries_.at(other).scope == entry.scope, "a tree refers to an entry of another scope");
            is_in_tree |= other == id && length == entry.tokens.size();
        }
        require(is_in_tree, "an entry is not in its tree");
    }
    require(in_use == n_in_use_, "wrong count of slots in use");
    require(bytes == snapshot_bytes_, "wrong total of snapshot bytes");
    require(snapshot_bytes_ <= options_.max_snapshot_bytes, "snapshots exceed their limit");
}

}  // namespace chasqui
