// Regular expressions to automata: Thompson's construction, then subsets of its nodes. Assertions are decided while the
// subsets are built: each subset knows which kind of character came before.
#include "automaton.h"

#include <algorithm>
#include <map>
#include <utility>

namespace chasqui::schema {

namespace {

enum class Neighbour { none, word, other };

struct Node {
    enum class Kind { set, jump, assertion } kind;
    const CodePoints* set  = nullptr;
    Regex::Kind       test = Regex::Kind::begin;
    std::vector<int>  next;
};

struct Subset {
    std::vector<int> nodes;  // sorted
    Neighbour        before;

    bool operator<(const Subset& other) const {
        return before != other.before ? before < other.before : nodes < other.nodes;
    }
};

// What is reached without reading a character.
struct Reached {
    std::vector<int> sets;
    bool             matched = false;
};

CodePoints words() {
    CodePoints set('0', '9');
    set.add('A', 'Z');
    set.add('_', '_');
    set.add('a', 'z');
    return set;
}

bool holds(Regex::Kind test, Neighbour before, Neighbour next) {
    const bool is_boundary = (before == Neighbour::word) != (next == Neighbour::word);
    switch (test) {
        case Regex::Kind::begin: return before == Neighbour::none;
        case Regex::Kind::end: return next == Neighbour::none;
        case Regex::Kind::word_boundary: return is_boundary;
        default: return !is_boundary;
    }
}

// Costs in steps of `reach()`: of copying and finding a subset, for each node, and of sorting a range.
constexpr size_t kLookup = 8, kSort = 8;

class Determinizer {
public:
    Determinizer(const Regex& regex, Budget& budget) : budget_(budget) {
        entry_         = add(Node::Kind::jump);  // where a match may begin: here, or after one more character
        const int skip = add(Node::Kind::set);
        nodes_[skip].set  = &everything_;
        nodes_[skip].next = {entry_};
        matched_       = add(Node::Kind::jump);
        const int first   = build(regex, matched_);
        nodes_[entry_].next = {skip, first};
    }

    Automaton run() {
        state_of({{entry_}, Neighbour::none});
        for (size_t i = 0; i < subsets_.size(); ++i) {
            if (i > Budget::kMaxStates) throw UnsupportedPattern("its automaton has too many states");
            const Subset subset = *subsets_[i];
            result_.states[i].accepts = subset.nodes.empty() || reach(subset, Neighbour::none).matched;
            if (subset.nodes.empty()) {
                add_edges(i, {{}, true}, everything_, Neighbour::other);
            } else if (tests_words_) {
                add_edges(i, reach(subset, Neighbour::word), words_, Neighbour::word);
                add_edges(i, reach(subset, Neighbour::other), words_.complement(), Neighbour::other);
            } else {
                add_edges(i, reach(subset, Neighbour::other), everything_, Neighbour::other);
            }
            auto& edges = result_.states[i].edges;
            std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.on.first < b.on.first; });
        }
        return std::move(result_);
    }

private:
    int add(Node::Kind kind) {
        if (nodes_.size() > Budget::kMaxStates) throw UnsupportedPattern("it has too many parts");
        nodes_.push_back({kind, nullptr, Regex::Kind::begin, {}});
        return static_cast<int>(nodes_.size()) - 1;
    }

    // Returns the first node of the expression. `after` is the node that follows it.
    int build(const Regex& regex, int after) {
        switch (regex.kind) {
            case Regex::Kind::set: {
                const int node    = add(Node::Kind::set);
                nodes_[node].set  = &regex.set;
                nodes_[node].next = {after};
                return node;
            }
            case Regex::Kind::sequence: {
                for (auto part = regex.parts.rbegin(); part != regex.parts.rend(); ++part) after = build(**part, after);
                return after;
            }
            case Regex::Kind::choice: {
                const int node = add(Node::Kind::jump);
                for (const RegexPtr& part : regex.parts) {
                    const int first = build(*part, after);
                    nodes_[node].next.push_back(first);
                }
                return node;
            }
            case Regex::Kind::repeat: return build_repetition(regex, after);
            default: {
                const int node    = add(Node::Kind::assertion);
                nodes_[node].test = regex.kind;
                nodes_[node].next = {after};
                if (regex.kind == Regex::Kind::word_boundary || regex.kind == Regex::Kind::no_word_boundary) {
                    tests_words_ = true;
                }
                return node;
            }
        }
    }

    int build_repetition(const Regex& regex, int after) {
        const Regex& part = *regex.parts[0];
        if (regex.max == Regex::kUnbounded) {
            const int loop    = add(Node::Kind::jump);
            const int first   = build(part, loop);
            nodes_[loop].next = {first, after};
            after             = loop;
        } else {
            const int end = after;
            for (unsigned i = regex.min; i < regex.max; ++i) {
                const int either    = add(Node::Kind::jump);
                const int first     = build(part, after);
                nodes_[either].next = {first, end};
                after               = either;
            }
        }
        for (unsigned i = 0; i < regex.min; ++i) after = build(part, after);
        return after;
    }

    Reached reach(const Subset& subset, Neighbour next) {
        Reached           reached;
        std::vector<int>  todo = subset.nodes;
        std::vector<bool> seen(nodes_.size(), false);
        budget_.spend(nodes_.size() / 64 + 1);
        while (!todo.empty()) {
            const int at = todo.back();
            todo.pop_back();
            if (seen[at]) continue;
            seen[at] = true;
            budget_.spend(1);
            if (at == matched_) reached.matched = true;
            const Node& node = nodes_[at];
            if (node.kind == Node::Kind::set) {
                reached.sets.push_back(at);
            } else if (node.kind == Node::Kind::jump || holds(node.test, subset.before, next)) {
                todo.insert(todo.end(), node.next.begin(), node.next.end());
            }
        }
        return reached;
    }

    // An empty subset is behind a match, where any text may follow.
    void add_edges(size_t from, const Reached& reached, const CodePoints& within, Neighbour kind) {
        if (reached.matched) {
            const int to = state_of({{}, Neighbour::other});
            for (const CodePointRange& each : within.ranges()) result_.states[from].edges.push_back({each, to});
            return;
        }
        struct Change {
            uint32_t at;
            int      target;
            bool     begins;
        };
        std::vector<Change> changes;
        for (const int each : reached.sets) {
            const CodePoints set = tests_words_ ? nodes_[each].set->intersect(within) : *nodes_[each].set;
            budget_.spend(kSort * set.ranges().size());
            for (const CodePointRange& range : set.ranges()) {
                changes.push_back({range.first, nodes_[each].next[0], true});
                changes.push_back({range.last + 1, nodes_[each].next[0], false});
            }
        }
        std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
        std::map<int, int> active;
        for (size_t i = 0; i < changes.size();) {
            const uint32_t first = changes[i].at;
            for (; i < changes.size() && changes[i].at == first; ++i) {
                int& n = active[changes[i].target];
                n += changes[i].begins ? 1 : -1;
                if (n == 0) active.erase(changes[i].target);
            }
            if (active.empty()) continue;
            budget_.spend(kLookup * active.size() + 1);
            Subset subset{{}, kind};
            for (const auto& [target, n] : active) subset.nodes.push_back(target);
            const int to = state_of(std::move(subset));
            result_.states[from].edges.push_back({{first, changes[i].at - 1}, to});
        }
    }

    int state_of(Subset subset) {
        const auto [found, is_new] = known_.emplace(std::move(subset), static_cast<int>(subsets_.size()));
        if (is_new) {
            subsets_.push_back(&found->first);
            result_.states.emplace_back();
        }
        return found->second;
    }

    Budget&           budget_;
    const CodePoints  everything_ = CodePoints::all();
    const CodePoints  words_      = words();
    std::vector<Node> nodes_;
    int               entry_ = 0, matched_ = 0;
    bool              tests_words_ = false;
    Automaton         result_;
    std::map<Subset, int>      known_;
    std::vector<const Subset*> subsets_;
};

}  // namespace

Automaton automaton_of(const Regex& regex, Budget& budget) {
    Automaton result = Determinizer(regex, budget).run();
    result.trim();
    return result;
}

}  // namespace chasqui::schema
