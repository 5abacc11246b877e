#include "automaton.h"

#include <algorithm>
#include <map>
#include <utility>

namespace chasqui::schema {

namespace {

const CodePoints kEverything = CodePoints::all();

const Automaton::Edge* edge_on(const Automaton::State& state, uint32_t point) {
    const auto found = std::lower_bound(state.edges.begin(), state.edges.end(), point,
                                        [](const Automaton::Edge& edge, uint32_t at) { return edge.on.last < at; });
    return found != state.edges.end() && found->on.first <= point ? &*found : nullptr;
}

unsigned power_of_ten(unsigned exponent, unsigned modulus) {
    unsigned power = 1 % modulus;
    for (unsigned i = 0; i < exponent; ++i) power = power * 10 % modulus;
    return power;
}

}  // namespace

bool Automaton::accepts(const std::vector<uint32_t>& text) const {
    int at = 0;
    for (const uint32_t point : text) {
        const Edge* edge = edge_on(states[at], point);
        if (edge == nullptr) return false;
        at = edge->to;
    }
    return states[at].accepts;
}

void Automaton::trim() {
    std::vector<std::vector<int>>  sources(states.size());
    std::vector<int>               todo;
    std::vector<int>               kept(states.size(), -1);
    for (size_t i = 0; i < states.size(); ++i) {
        for (const Edge& edge : states[i].edges) sources[edge.to].push_back(static_cast<int>(i));
        if (states[i].accepts) todo.push_back(static_cast<int>(i));
    }
    std::vector<bool> alive(states.size(), false);
    for (const int each : todo) alive[each] = true;
    while (!todo.empty()) {
        const int at = todo.back();
        todo.pop_back();
        for (const int source : sources[at]) {
            if (!alive[source]) todo.push_back(source);
            alive[source] = true;
        }
    }
    int n = 0;
    for (size_t i = 0; i < states.size(); ++i) {
        if (alive[i] || i == 0) kept[i] = n++;
    }
    for (size_t i = 0; i < states.size(); ++i) {
        if (kept[i] < 0) continue;
        std::vector<Edge> edges;
        for (Edge edge : states[i].edges) {
            if (!alive[edge.to]) continue;
            edge.to = kept[edge.to];
            const bool continues = !edges.empty() && edges.back().to == edge.to && edges.back().on.last + 1 == edge.on.first;
            if (continues) {
                edges.back().on.last = edge.on.last;
            } else {
                edges.push_back(edge);
            }
        }
        states[i].edges = std::move(edges);
        if (kept[i] != static_cast<int>(i)) states[kept[i]] = std::move(states[i]);
    }
    states.resize(n);
}

Automaton of_length(size_t min, size_t max) {
    const bool   endless = max == static_cast<size_t>(-1);
    const size_t last    = endless ? min : max;
    Automaton    result;
    result.states.resize(last + 1);
    for (size_t i = 0; i <= last; ++i) {
        result.states[i].accepts = i >= min;
        if (i == last && !endless) break;
        const int to = static_cast<int>(std::min(i + 1, last));
        for (const CodePointRange& each : kEverything.ranges()) result.states[i].edges.push_back({each, to});
    }
    return result;
}

Automaton none_of(const std::vector<std::string>& texts) {
    constexpr size_t                   kMaxNameStates = 10'000;
    std::vector<std::vector<uint32_t>> names;
    size_t                             longest = 1;
    for (const std::string& each : texts) {
        names.push_back(code_points_of(each));
        longest = std::max(longest, names.back().size());
    }
    const auto n_states = [&](size_t length) {
        size_t n = 0;
        for (const auto& name : names) n += std::min(name.size(), length);
        return n;
    };
    while (longest > 1 && n_states(longest) > kMaxNameStates) longest /= 2;

    struct Node {
        std::map<uint32_t, int> next;
        bool                    is_name = false, is_cut = false;
    };
    std::vector<Node> trie(1);
    for (const auto& name : names) {
        int at = 0;
        for (size_t i = 0; i < std::min(name.size(), longest); ++i) {
            const auto [found, is_new] = trie[at].next.emplace(name[i], static_cast<int>(trie.size()));
            at                         = found->second;
            if (is_new) trie.emplace_back();
        }
        (name.size() > longest ? trie[at].is_cut : trie[at].is_name) = true;
    }
    Automaton result;
    result.states.resize(trie.size() + 1);
    const int others = static_cast<int>(trie.size());
    for (size_t i = 0; i < trie.size(); ++i) {
        if (trie[i].is_cut) continue;
        Automaton::State& state = result.states[i];
        state.accepts           = !trie[i].is_name;
        CodePoints named;
        for (const auto& [point, to] : trie[i].next) {
            named.add(point, point);
            state.edges.push_back({{point, point}, to});
        }
        const CodePoints unnamed = named.complement();
        for (const CodePointRange& each : unnamed.ranges()) state.edges.push_back({each, others});
        std::sort(state.edges.begin(), state.edges.end(),
                  [](const Automaton::Edge& a, const Automaton::Edge& b) { return a.on.first < b.on.first; });
    }
    result.states[others].accepts = true;
    for (const CodePointRange& each : kEverything.ranges()) result.states[others].edges.push_back({each, others});
    result.trim();
    return result;
}

Automaton multiples_of(unsigned divisor, unsigned decimals) {
    // The states: the start, behind the sign, then each remainder in the whole part (0) and with decimal - 1 digits read.
    Automaton  result;
    const auto state = [&](unsigned decimal, unsigned remainder) {
        return static_cast<int>(2 + decimal * divisor + remainder);
    };
    result.states.resize(2 + (decimals + 2) * size_t{divisor});
    result.states[0].edges.push_back({{'-', '-'}, 1});
    const auto add_digits = [&](int from, unsigned decimal, unsigned remainder) {
        for (uint32_t digit = 0; digit < 10; ++digit) {
            const uint32_t on = '0' + digit;
            result.states[from].edges.push_back({{on, on}, state(decimal, (remainder * 10 + digit) % divisor)});
        }
    };
    add_digits(0, 0, 0);
    add_digits(1, 0, 0);
    for (unsigned remainder = 0; remainder < divisor; ++remainder) {
        const int whole = state(0, remainder);
        result.states[whole].accepts = remainder * power_of_ten(decimals, divisor) % divisor == 0;
        result.states[whole].edges.push_back({{'.', '.'}, state(1, remainder)});
        add_digits(whole, 0, remainder);
        for (unsigned decimal = 1; decimal <= decimals + 1; ++decimal) {
            const int at = state(decimal, remainder);
            result.states[at].accepts = remainder * power_of_ten(decimals + 1 - decimal, divisor) % divisor == 0;
            if (decimal <= decimals) {
                add_digits(at, decimal + 1, remainder);
            } else {
                result.states[at].edges.push_back({{'0', '0'}, at});
            }
        }
    }
    result.trim();
    return result;
}

Automaton combine(const Automaton& one, const Automaton& other, Combine how, Budget& budget) {
    constexpr int                      kNone = -1;
    Automaton                          result;
    std::map<std::pair<int, int>, int> known;
    std::vector<std::pair<int, int>>   pairs;
    const auto                         state_of = [&](int a, int b) {
        const auto [found, is_new] = known.emplace(std::make_pair(a, b), static_cast<int>(pairs.size()));
        if (is_new) pairs.emplace_back(a, b);
        return found->second;
    };
    state_of(0, 0);
    for (size_t i = 0; i < pairs.size(); ++i) {
        if (i > Budget::kMaxStates) throw UnsupportedPattern("its automaton has too many states");
        const auto [a, b]     = pairs[i];
        const auto&      left = one.states[a];
        static const Automaton::State nowhere;
        const auto&      right = b == kNone ? nowhere : other.states[b];
        Automaton::State state;
        state.accepts = left.accepts && (how == Combine::both ? right.accepts : !right.accepts);
        budget.spend(left.edges.size() + right.edges.size() + 1);
        size_t r = 0;
        for (const Automaton::Edge& edge : left.edges) {
            uint32_t at = edge.on.first;
            while (at <= edge.on.last) {
                while (r < right.edges.size() && right.edges[r].on.last < at) ++r;
                const bool     within = r < right.edges.size() && right.edges[r].on.first <= at;
                const uint32_t last   = r == right.edges.size() ? edge.on.last
                                        : within                ? std::min(edge.on.last, right.edges[r].on.last)
                                                                : std::min(edge.on.last, right.edges[r].on.first - 1);
                if (within) {
                    state.edges.push_back({{at, last}, state_of(edge.to, right.edges[r].to)});
                } else if (how == Combine::only_first) {
                    state.edges.push_back({{at, last}, state_of(edge.to, kNone)});
                }
                at = last + 1;
            }
        }
        result.states.push_back(std::move(state));
    }
    result.trim();
    return result;
}

}  // namespace chasqui::schema
