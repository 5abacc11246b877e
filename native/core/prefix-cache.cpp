#include "prefix-cache.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace chasqui {

namespace {

// Moving fewer tokens than this costs more than computing them.
constexpr size_t kSmallestCopy = 16;
// Waiting for somebody else's prompt, or saving what would be lost, pays from this many tokens on.
constexpr size_t kWorthIt = 32;

// The few tokens that every chat begins with are no reason to take somebody's slot. Nor are they worth having:
// llama.cpp computes prompts together only as far as they have equally many tokens left, so they would part prompts of
// one length, and each part costs a pass over the weights (8 x 80 tokens of the 0.5B model of bench:peers: 1,258 ms
// instead of 1,169).
bool is_worth_keeping(size_t n_common, size_t n_tokens) { return n_common >= kSmallestCopy || 2 * n_common > n_tokens; }

}  // namespace

PrefixCache::PrefixCache(const PrefixCacheOptions& options)
    : options_(options), next_snapshot_(static_cast<Id>(options.n_slots)) {
    for (Id slot = 0; is_slot(slot); ++slot) holdings_[slot] = {};
}

PrefixCache::Answer PrefixCache::place(const std::vector<TokenId>& tokens, bool reuse,
                                       const std::vector<size_t>& snapshot_at, const Media* media) {
    const auto matches = reuse ? tree_.find(tokens) : std::vector<PrefixTree::Match>();
    Hit        hit     = best_ready(tokens, matches, media);
    if (somebody_computes_more(tokens, matches, hit.n_tokens)) return {Verdict::wait, {}};
    if (n_in_use() == options_.n_slots) return {Verdict::no_slot, {}};

    if (!is_worth_keeping(hit.n_tokens, tokens.size())) hit = {};

    Placement placement;
    placement.slot = choose_slot(hit);
    const bool in_place = hit.id == placement.slot;
    if (in_place || hit.n_tokens >= kSmallestCopy) {
        placement.n_keep    = hit.n_tokens;
        placement.source_id = hit.id;
        placement.source    = in_place          ? Placement::Source::in_place
                              : is_slot(hit.id) ? Placement::Source::slot
                                                : Placement::Source::snapshot;
        holdings_[hit.id].last_used = ++clock_;
        placement.next_position      = media ? media->position(hit.n_tokens) : static_cast<int32_t>(hit.n_tokens);
        placement.last_kept_position =
            media ? media->position(hit.n_tokens - 1) : static_cast<int32_t>(hit.n_tokens) - 1;
    }
    save_if_lost(placement.slot, in_place ? placement.n_keep : 0, placement);
    const size_t n_copied = in_place ? holdings_.at(placement.slot).n_copied : placement.n_keep;
    forget(placement.slot);
    hold(placement.slot, tokens, placement.n_keep, true);
    holdings_.at(placement.slot).n_copied = n_copied;
    for (const size_t point : snapshot_at) {
        const bool is_possible = bytes_of(point) <= options_.max_snapshot_bytes;
        if (reuse && is_possible) holdings_.at(placement.slot).snapshot_at.push_back(point);
    }
    return {Verdict::placed, placement};
}

size_t PrefixCache::bytes_of(size_t n_tokens) const {
    return options_.bytes_per_snapshot + n_tokens * options_.bytes_per_token;
}

// How many tokens of a holding somebody can use who has the first `n_common` in common with it.
size_t PrefixCache::n_usable(Id id, size_t n_common) const {
    const Holding& holding  = holdings_.at(id);
    const size_t   n_there  = std::min(n_common, holding.n_ready);
    const bool     in_place = options_.cut_back == CutBack::in_place && is_slot(id) && !holding.in_use;
    if (options_.cut_back == CutBack::anywhere || n_there == holding.n_ready) return n_there;
    return in_place && n_there >= holding.n_copied ? n_there : 0;
}

// Whether the hit is of no use in another slot.
bool PrefixCache::must_stay(const Hit& hit) const {
    return options_.cut_back != CutBack::anywhere && hit.n_tokens > 0 && hit.n_tokens < holdings_.at(hit.id).n_ready;
}

size_t PrefixCache::n_ready(const std::vector<TokenId>& tokens, const Media* media) const {
    const size_t n_tokens = best_ready(tokens, tree_.find(tokens), media).n_tokens;
    return n_tokens < kSmallestCopy ? 0 : n_tokens;
}

// Whoever has most of the tokens computed. At least one is always left: its logits are what the sequence needs.
PrefixCache::Hit PrefixCache::best_ready(const std::vector<TokenId>&            tokens,
                                         const std::vector<PrefixTree::Match>& matches, const Media* media) const {
    Hit best;
    int best_rank = 0;
    for (const auto& [id, length] : matches) {
        const Holding& holding = holdings_.at(id);
        size_t         usable  = n_usable(id, std::min(length, tokens.size() - 1));
        if (media != nullptr && media->resumable(usable) < usable) usable = n_usable(id, media->resumable(usable));
        // Among equals: what can be used where it is, then what is on the device, then the rest.
        const int rank = is_slot(id) ? (holding.in_use ? 1 : 2) : 0;
        if (usable > best.n_tokens || (usable > 0 && usable == best.n_tokens && rank > best_rank)) {
            best      = {id, usable};
            best_rank = rank;
        }
    }
    return best;
}

bool PrefixCache::somebody_computes_more(const std::vector<TokenId>&            tokens,
                                         const std::vector<PrefixTree::Match>& matches, size_t n_ready) const {
    for (const auto& [id, length] : matches) {
        const Holding& holding = holdings_.at(id);
        size_t         common  = std::min(length, tokens.size() - 1);
        if (options_.cut_back != CutBack::anywhere) {  // then the last snapshot that is to be taken on the way there
            const auto& points = holding.snapshot_at;
            const auto  beyond = std::upper_bound(points.begin(), points.end(), common);
            common             = beyond == points.begin() ? 0 : *std::prev(beyond);
        }
        if (holding.in_use && !holding.paused && holding.n_ready < common && common >= n_ready + kWorthIt) return true;
    }
    return false;
}

// The free slot that leaves the slots in use most closely together: llama.cpp reads all weights anew for every gap
// between them. Then, where the tokens are already; then an empty one; then the least recently used.
PrefixCache::Id PrefixCache::choose_slot(const Hit& hit) const {
    if (must_stay(hit)) return hit.id;
    using Score = std::tuple<size_t, bool, bool, uint64_t, Id>;
    Score best{std::numeric_limits<size_t>::max(), true, true, 0, -1};
    for (Id slot = 0; is_slot(slot); ++slot) {
        const Holding& holding = holdings_.at(slot);
        if (holding.in_use) continue;
        best = std::min(best, {n_runs_with(slot), slot != hit.id, !holding.tokens.empty(), holding.last_used, slot});
    }
    return std::get<Id>(best);
}

// How many unbroken runs the slots in use would make up together with `slot`.
size_t PrefixCache::n_runs_with(Id slot) const {
    size_t n_runs   = 0;
    bool   previous = false;
    for (Id each = 0; is_slot(each); ++each) {
        const bool in_use = each == slot || holdings_.at(each).in_use;
        n_runs += in_use && !previous ? 1 : 0;
        previous = in_use;
    }
    return n_runs;
}

// Plans a snapshot of what `slot` holds beyond `n_keep`, unless somebody else holds that too.
void PrefixCache::save_if_lost(Id slot, size_t n_keep, Placement& placement) {
    const Holding& lost = holdings_.at(slot);
    if (lost.n_ready < n_keep + kWorthIt) return;
    for (const auto& [id, length] : tree_.find(lost.tokens)) {
        // What is in use moves on, and its state with it.
        const bool moves_on = options_.cut_back != CutBack::anywhere && holdings_.at(id).in_use;
        if (id != slot && !moves_on && n_usable(id, length) + kWorthIt > lost.n_ready) return;
    }
    if (!make_room(bytes_of(lost.n_ready), placement.source_id, placement.drop)) return;
    placement.save_as = add_snapshot(lost.tokens);
}

PrefixCache::Id PrefixCache::add_snapshot(std::vector<TokenId> tokens) {
    const size_t n_tokens = tokens.size();
    snapshot_bytes_ += bytes_of(n_tokens);
    hold(next_snapshot_, std::move(tokens), n_tokens, false);
    return next_snapshot_++;
}

bool PrefixCache::make_room(size_t bytes, Id except, std::vector<int32_t>& drop) {
    if (bytes == 0 || bytes > options_.max_snapshot_bytes) return false;
    while (snapshot_bytes_ + bytes > options_.max_snapshot_bytes) {
        auto oldest = holdings_.end();
        for (auto each = holdings_.lower_bound(static_cast<Id>(options_.n_slots)); each != holdings_.end(); ++each) {
            if (each->first == except) continue;
            if (oldest == holdings_.end() || each->second.last_used < oldest->second.last_used) oldest = each;
        }
        if (oldest == holdings_.end()) return false;
        const Id id = oldest->first;
        snapshot_bytes_ -= bytes_of(oldest->second.n_ready);
        drop.push_back(id);
        forget(id);
        holdings_.erase(id);
    }
    return true;
}

void PrefixCache::set_paused(int32_t slot, bool paused) { holdings_.at(slot).paused = paused; }

size_t PrefixCache::n_until_snapshot(int32_t slot) const {
    const Holding& running = holdings_.at(slot);
    const auto     next = std::upper_bound(running.snapshot_at.begin(), running.snapshot_at.end(), running.n_ready);
    return next == running.snapshot_at.end() ? std::numeric_limits<size_t>::max() : *next - running.n_ready;
}

std::optional<Snapshot> PrefixCache::progress(int32_t slot, size_t n_ready) {
    Holding& running = holdings_.at(slot);
    running.n_ready  = n_ready;
    const auto& points = running.snapshot_at;
    if (!std::binary_search(points.begin(), points.end(), n_ready)) return std::nullopt;
    std::vector<TokenId> tokens(running.tokens.begin(), running.tokens.begin() + static_cast<std::ptrdiff_t>(n_ready));
    Snapshot             snapshot;
    if (is_parked(tokens) || !make_room(bytes_of(n_ready), -1, snapshot.drop)) return std::nullopt;
    snapshot.slot = slot;
    snapshot.id   = add_snapshot(std::move(tokens));
    return snapshot;
}

// Whether exactly these tokens are there already; then they count as used.
bool PrefixCache::is_parked(const std::vector<TokenId>& tokens) {
    for (const auto& [id, length] : tree_.find(tokens)) {
        Holding& holding = holdings_.at(id);
        if (holding.in_use || length != tokens.size() || holding.tokens.size() != tokens.size()) continue;
        holding.last_used = ++clock_;
        return true;
    }
    return false;
}

void PrefixCache::release(int32_t slot, const std::vector<TokenId>& tokens, size_t n_ready) {
    const size_t n_copied = holdings_.at(slot).n_copied;
    forget(slot);
    hold(slot, {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n_ready)}, n_ready, false);
    holdings_.at(slot).n_copied = n_copied;
}

void PrefixCache::release_spoilt(int32_t slot) { forget(slot); }

void PrefixCache::hold(Id id, std::vector<TokenId> tokens, size_t n_ready, bool in_use) {
    tree_.insert(id, tokens);
    n_in_use_ += in_use ? 1 : 0;
    holdings_[id] = {std::move(tokens), n_ready, in_use, false, ++clock_, {}, 0};
}

void PrefixCache::forget(Id id) {
    Holding& holding = holdings_.at(id);
    tree_.remove(id, holding.tokens);
    n_in_use_ -= holding.in_use ? 1 : 0;
    holding = {};
}

size_t PrefixCache::n_tokens_held() const {
    size_t n_tokens = 0;
    for (Id slot = 0; is_slot(slot); ++slot) n_tokens += holdings_.at(slot).n_ready;
    return n_tokens;
}

size_t PrefixCache::n_tokens_in_use() const {
    size_t n_tokens = 0;
    for (Id slot = 0; is_slot(slot); ++slot) {
        if (holdings_.at(slot).in_use) n_tokens += holdings_.at(slot).n_ready;
    }
    return n_tokens;
}

void PrefixCache::check_invariants() const {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::logic_error(std::string("prefix cache: ") + what);
    };
    tree_.check_invariants();
    size_t bytes = 0, in_use = 0;
    for (const auto& [id, holding] : holdings_) {
        in_use += holding.in_use ? 1 : 0;
        if (!is_slot(id)) bytes += bytes_of(holding.n_ready);
        require(is_slot(id) || (!holding.in_use && holding.n_ready == holding.tokens.size()), "a snapshot changed");
        if (holding.tokens.empty()) continue;
        bool filed = false;
        for (const auto& [other, length] : tree_.find(holding.tokens)) {
            require(holdings_.count(other) == 1, "the tree knows somebody who is gone");
            filed |= other == id && length == holding.tokens.size();
        }
        require(filed, "a holding is not in the tree");
    }
    require(in_use == n_in_use_, "the slots in use are miscounted");
    require(bytes == snapshot_bytes_, "the bytes of the snapshots do not add up");
    require(snapshot_bytes_ <= options_.max_snapshot_bytes, "the snapshots are over their limit");
}

}  // namespace chasqui
