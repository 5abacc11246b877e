// Thread: engine.
#pragma once

#include "job.h"

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

namespace chasqui {

// A radix tree that maps token prefixes to their holders. A shared prefix is stored once.
//
//   insert(1, a b c d)        ┌ c d      {1}
//   insert(2, a b x)     a b ─┤
//                      {1, 2} └ x        {2}        find(a b c z) → (1, 3), (2, 2)
//
// Invariants: a node's holders are those whose tokens pass through it or end at it, so a child's holders are a subset
// of its parent's; each holder ends at a node; every node except the root has holders; no node could be merged with its
// only child.
class PrefixTree {
public:
    using Holder = int32_t;

    struct Match {
        Holder holder;
        size_t length;  // of the common prefix
    };

    PrefixTree();
    ~PrefixTree();

    // `holder` must not be in the tree.
    void insert(Holder holder, const std::vector<TokenId>& tokens);
    // `tokens` must be those passed to insert().
    void remove(Holder holder, const std::vector<TokenId>& tokens);
    // The holders that share at least the first token, longest common prefix first.
    std::vector<Match> find(const std::vector<TokenId>& tokens) const;

    bool is_empty() const;
    // Stored tokens; shared ones count once.
    size_t n_tokens() const;
    // For tests: throws std::logic_error if an invariant is violated.
    void check_invariants() const;

private:
    struct Node;

    static void split(Node& node, size_t length);
    static void merge_with_only_child(Node& node);

    std::unique_ptr<Node> root_;
};

}  // namespace chasqui
