// The items of an array, in the order of the grammar.
#include "schemas.h"

#include <algorithm>

namespace chasqui::schema {

std::optional<ItemPlan> Schemas::plan_of(const ArrayLimits& limits) {
    std::vector<NodeId> prefix;
    NodeId              rest     = kAnything;
    size_t              n_prefix = 0;
    bool                has_rest = false;
    for (const auto& layer : limits.layers) {
        n_prefix = std::max(n_prefix, layer->prefix.size());
        rest     = both(rest, layer->rest);
        has_rest = has_rest || layer->has_rest;
    }
    size_t min = limits.min, max = limits.max;
    for (size_t i = 0; i < n_prefix; ++i) {
        NodeId node = kAnything;
        for (const auto& layer : limits.layers) node = both(node, layer->at(i));
        if (is_empty(node)) {
            max = std::min(max, i);
            break;
        }
        prefix.push_back(node);
    }
    // A tuple is written whole, unless the schema counts its items.
    if (!prefix.empty() && !has_rest && !limits.has_min && limits.contained.empty()) {
        min = std::max(min, std::min(prefix.size(), max));
        max = std::min(max, prefix.size());
    }
    // Items that must be contained come right behind the prefix, or in it if there is no room.
    for (const Contained& contained : limits.contained) {
        const NodeId counted = both(rest, contained.node);
        const bool   behind  = prefix.size() + contained.min <= max && !is_empty(counted);
        size_t       left    = contained.min;
        if (contained.max != kUnlimited) {
            for (NodeId& node : prefix) {
                const NodeId other = both(node, contained.otherwise), same = both(node, contained.node);
                const bool   takes = !behind && left > 0 && !is_empty(same);
                left -= takes ? 1 : 0;
                node = takes || is_empty(other) ? same : other;
            }
            rest = both(rest, contained.otherwise);
        } else if (!behind) {
            for (NodeId& node : prefix) {
                const NodeId same = both(node, contained.node);
                if (left == 0 || is_empty(same)) continue;
                node = same;
                --left;
            }
            min = std::max(min, contained.min > 0 ? prefix.size() : 0);
        }
        if (contained.max < contained.min) return std::nullopt;
        if (behind) {
            prefix.insert(prefix.end(), contained.min, counted);
            if (contained.min > 0) min = std::max(min, prefix.size());
        } else if (left > 0) {
            return std::nullopt;
        }
    }
    if (is_empty(rest)) max = std::min(max, prefix.size());
    if (max < min) return std::nullopt;
    if (prefix.size() > max) prefix.resize(max);
    return ItemPlan{std::move(prefix), rest, min, max};
}

}  // namespace chasqui::schema
