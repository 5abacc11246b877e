// The part of the prefix cache that removes entries with invalid cells.
#include "prefix-cache.h"

namespace chasqui {

std::vector<int32_t> PrefixCache::forget(const std::vector<TokenId>& tokens, size_t n_cached,
                                         const CacheScope& scope) {
    std::vector<int32_t> forgotten;
    for (const PrefixTree::Match& match : find(scope, tokens)) {
        const Entry& entry    = entries_.at(match.holder);
        const bool   may_hold = match.length == entry.tokens.size() || (n_cached > 0 && match.length >= n_cached);
        if (may_hold && !entry.in_use) forgotten.push_back(match.holder);
    }
    for (const Id id : forgotten) {
        if (!is_slot(id)) snapshot_bytes_ -= bytes_of(entries_.at(id).n_computed);
        clear_entry(id);
        if (!is_slot(id)) entries_.erase(id);
    }
    return forgotten;
}

}  // namespace chasqui
