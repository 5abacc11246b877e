#include "prefix-tree.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace chasqui {

struct PrefixTree::Node {
    std::vector<TokenId>                               edge;  // tokens from the parent to here; empty for the root only
    std::vector<Holder>                                holders;
    std::unordered_map<TokenId, std::unique_ptr<Node>> children;  // by the first token of their edges

    Node* child(TokenId first) const {
        const auto found = children.find(first);
        return found == children.end() ? nullptr : found->second.get();
    }
    // How many tokens of the edge equal `tokens` from `at` on.
    size_t match(const std::vector<TokenId>& tokens, size_t at) const {
        const size_t length = std::min(edge.size(), tokens.size() - at);
        const auto   from   = tokens.begin() + static_cast<std::ptrdiff_t>(at);
        const auto   end    = edge.begin() + static_cast<std::ptrdiff_t>(length);
        return static_cast<size_t>(std::mismatch(edge.begin(), end, from).first - edge.begin());
    }
};

PrefixTree::PrefixTree() : root_(std::make_unique<Node>()) {}
PrefixTree::~PrefixTree() = default;

// Cuts the node's edge after `length` tokens; the remainder becomes its only child.
void PrefixTree::split(Node& node, size_t length) {
    const auto cut   = node.edge.begin() + static_cast<std::ptrdiff_t>(length);
    auto       lower = std::make_unique<Node>();
    lower->edge.assign(cut, node.edge.end());
    lower->holders  = node.holders;
    lower->children = std::exchange(node.children, {});
    node.edge.erase(cut, node.edge.end());
    node.children.emplace(lower->edge.front(), std::move(lower));
}

// Undoes a split that no holder needs.
void PrefixTree::merge_with_only_child(Node& node) {
    if (node.children.size() != 1) return;
    Node& child = *node.children.begin()->second;
    if (child.holders.size() != node.holders.size()) return;
    const std::unique_ptr<Node> lower = std::move(node.children.begin()->second);
    node.edge.insert(node.edge.end(), lower->edge.begin(), lower->edge.end());
    node.children = std::move(lower->children);
}

void PrefixTree::insert(Holder holder, const std::vector<TokenId>& tokens) {
    Node* node = root_.get();
    for (size_t at = 0; at < tokens.size();) {
        Node* next = node->child(tokens[at]);
        if (next == nullptr) {
            auto leaf = std::make_unique<Node>();
            leaf->edge.assign(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end());
            leaf->holders = {holder};
            node->children.emplace(tokens[at], std::move(leaf));
            return;
        }
        const size_t matched = next->match(tokens, at);
        if (matched < next->edge.size()) split(*next, matched);
        next->holders.push_back(holder);
        node = next;
        at += matched;
    }
}

void PrefixTree::remove(Holder holder, const std::vector<TokenId>& tokens) {
    Node*              node = root_.get();
    std::vector<Node*> path;
    for (size_t at = 0; at < tokens.size();) {
        const auto next    = node->children.find(tokens[at]);
        auto&      holders = next->second->holders;
        holders.erase(std::find(holders.begin(), holders.end(), holder));
        if (holders.empty()) {  // no holders below either
            node->children.erase(next);
            break;
        }
        at += next->second->edge.size();
        node = next->second.get();
        path.push_back(node);
    }
    for (auto each = path.rbegin(); each != path.rend(); ++each) merge_with_only_child(**each);
}

std::vector<PrefixTree::Match> PrefixTree::find(const std::vector<TokenId>& tokens) const {
    std::vector<std::pair<const Node*, size_t>> path;
    const Node*                                 node = root_.get();
    for (size_t at = 0; at < tokens.size();) {
        node = node->child(tokens[at]);
        if (node == nullptr) break;
        const size_t matched = node->match(tokens, at);
        at += matched;
        path.emplace_back(node, at);
        if (matched < node->edge.size()) break;
    }
    std::vector<Match> matches;
    std::set<Holder>   seen;
    for (auto each = path.rbegin(); each != path.rend(); ++each) {
        for (const Holder holder : each->first->holders) {
            if (seen.insert(holder).second) matches.push_back({holder, each->second});
        }
    }
    return matches;
}

bool PrefixTree::is_empty() const { return root_->children.empty(); }

size_t PrefixTree::n_tokens() const {
    size_t                   total = 0;
    std::vector<const Node*> open{root_.get()};
    while (!open.empty()) {
        const Node* node = open.back();
        open.pop_back();
        total += node->edge.size();
        for (const auto& child : node->children) open.push_back(child.second.get());
    }
    return total;
}

void PrefixTree::check_invariants() const {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::logic_error(std::string("prefix tree: ") + what);
    };
    std::vector<const Node*> open{root_.get()};
    while (!open.empty()) {
        const Node* node = open.back();
        open.pop_back();
        const bool is_root = node == root_.get();
        const std::set<Holder> holders(node->holders.begin(), node->holders.end());
        require(holders.size() == node->holders.size(), "a holder is listed twice");
        require(is_root || (!node->edge.empty() && !holders.empty()), "a node is empty");
        size_t below = 0;
        for (const auto& [first, child] : node->children) {
            require(child->edge.front() == first, "a child is filed under another token");
            for (const Holder holder : child->holders) {
                require(is_root || holders.count(holder) == 1, "a holder is missing above");
            }
            below += child->holders.size();
            open.push_back(child.get());
        }
        require(is_root || below <= holders.size(), "a holder is in two branches");
        require(is_root || node->children.size() != 1 || below < holders.size(), "a split that no holder needs");
    }
}

}  // namespace chasqui
