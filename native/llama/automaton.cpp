#include "automaton.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

namespace chasqui {

namespace {

using Edge  = Automaton::Edge;
using State = Automaton::State;

constexpr uint32_t kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff;

void add_range(std::vector<Edge>& edges, uint32_t low, uint32_t high, size_t to) {
    if (!edges.empty() && edges.back().to == to && edges.back().high + 1 == low) {
        edges.back().high = high;
    } else {
        edges.push_back({low, high, to});
    }
}

void add_all(std::vector<Edge>& edges, size_t to) {
    edges.push_back({1, kFirstSurrogate - 1, to});
    edges.push_back({kLastSurrogate + 1, Automaton::kLastCharacter, to});
}

const Edge* edge_of(const State& state, uint32_t c) {
    const auto found = std::partition_point(state.edges.begin(), state.edges.end(),
                                            [c](const Edge& edge) { return edge.high < c; });
    return found != state.edges.end() && found->low <= c ? &*found : nullptr;
}

void check_size(const std::vector<State>& states) {
    if (states.size() > Automaton::kMaxStates) throw AutomatonLimit("it needs too many states");
}

std::string in_set(uint32_t c) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return {static_cast<char>(c)};
    char text[12];
    std::snprintf(text, sizeof text, c <= 0xff ? "\\x%02X" : c <= 0xffff ? "\\u%04X" : "\\U%08X", c);
    return text;
}

}  // namespace

std::vector<uint32_t> to_characters(const std::string& utf8) {
    std::vector<uint32_t> characters;
    for (size_t i = 0; i < utf8.size();) {
        const auto first = static_cast<unsigned char>(utf8[i++]);
        const int  n     = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        uint32_t   value = n == 0 ? first : first & (0x3fu >> n);
        for (int k = 0; k < n && i < utf8.size(); ++k) value = value << 6 | (static_cast<unsigned char>(utf8[i++]) & 0x3fu);
        characters.push_back(value);
    }
    return characters;
}

Automaton Automaton::any() {
    Automaton all;
    all.states.push_back({true, {}});
    add_all(all.states[0].edges, 0);
    return all;
}

Automaton Automaton::none() { return {}; }

Automaton Automaton::of(const std::vector<std::string>& texts) {
    Automaton trie;
    if (texts.empty()) return trie;
    trie.states.emplace_back();
    for (const std::string& text : texts) {
        size_t at = 0;
        for (const uint32_t c : to_characters(text)) {
            if (const Edge* edge = edge_of(trie.states[at], c)) {
                at = edge->to;
                continue;
            }
            const size_t       to    = trie.states.size();
            std::vector<Edge>& edges = trie.states[at].edges;
            edges.insert(std::partition_point(edges.begin(), edges.end(), [c](const Edge& edge) { return edge.low < c; }),
                         {c, c, to});
            trie.states.emplace_back();
            check_size(trie.states);
            at = to;
        }
        trie.states[at].accepts = true;
    }
    return trie;
}

Automaton Automaton::of_length(int64_t min, int64_t max) {
    if (max >= 0 && max < min) return none();
    const int64_t last = max < 0 ? min : max;
    if (last >= static_cast<int64_t>(kMaxStates)) throw AutomatonLimit("the length is too large");
    Automaton chain;
    chain.states.resize(static_cast<size_t>(last) + 1);
    for (size_t i = 0; i < chain.states.size(); ++i) {
        chain.states[i].accepts = static_cast<int64_t>(i) >= min;
        if (i + 1 < chain.states.size()) add_all(chain.states[i].edges, i + 1);
    }
    if (max < 0) add_all(chain.states.back().edges, chain.states.size() - 1);
    return chain;
}

Automaton Automaton::completed() const {
    Automaton all = *this;
    if (all.states.empty()) all.states.emplace_back();
    const size_t sink = all.states.size();
    all.states.emplace_back();
    for (State& state : all.states) {
        std::vector<Edge> edges;
        const auto        fill = [&](uint32_t low, uint32_t high) {
            if (low > high) return;
            if (low < kFirstSurrogate) add_range(edges, low, std::min(high, kFirstSurrogate - 1), sink);
            if (high > kLastSurrogate) add_range(edges, std::max(low, kLastSurrogate + 1), high, sink);
        };
        uint32_t next = 1;
        for (const Edge& edge : state.edges) {
            fill(next, edge.low - 1);
            add_range(edges, edge.low, edge.high, edge.to);
            next = edge.high + 1;
        }
        fill(next, kLastCharacter);
        state.edges = std::move(edges);
    }
    return all;
}

template <typename Accepts>
Automaton Automaton::product(const Automaton& other, const Accepts& accepts) const {
    Automaton result;
    if (states.empty() || other.states.empty()) return result;
    std::map<std::pair<size_t, size_t>, size_t> numbers;
    std::vector<std::pair<size_t, size_t>>      pairs;
    const auto number_of = [&](size_t a, size_t b) {
        const auto [found, is_new] = numbers.emplace(std::make_pair(a, b), pairs.size());
        if (is_new) pairs.emplace_back(a, b);
        return found->second;
    };
    number_of(0, 0);
    for (size_t i = 0; i < pairs.size(); ++i) {
        const State& a = states[pairs[i].first];
        const State& b = other.states[pairs[i].second];
        State        state;
        state.accepts = accepts(a.accepts, b.accepts);
        for (size_t x = 0, y = 0; x < a.edges.size() && y < b.edges.size();) {
            const uint32_t low  = std::max(a.edges[x].low, b.edges[y].low);
            const uint32_t high = std::min(a.edges[x].high, b.edges[y].high);
            if (low <= high) add_range(state.edges, low, high, number_of(a.edges[x].to, b.edges[y].to));
            (a.edges[x].high < b.edges[y].high ? x : y)++;
        }
        result.states.push_back(std::move(state));
        check_size(result.states);
    }
    result.trim();
    return result;
}

Automaton Automaton::both(const Automaton& other) const {
    return product(other, [](bool a, bool b) { return a && b; });
}

Automaton Automaton::either(const Automaton& other) const {
    return completed().product(other.completed(), [](bool a, bool b) { return a || b; });
}

Automaton Automaton::complement() const {
    Automaton result = completed();
    for (State& state : result.states) state.accepts = !state.accepts;
    result.trim();
    return result;
}

Automaton Automaton::until(const std::string& end) const {
    const std::vector<uint32_t> wanted = to_characters(end);
    const size_t                n      = wanted.size();
    // Knuth, Morris and Pratt: a state is the number of characters of `end` that the text ends with.
    std::vector<size_t> shorter(n, 0);
    for (size_t i = 1; i < n; ++i) {
        size_t k = shorter[i - 1];
        while (k > 0 && wanted[k] != wanted[i]) k = shorter[k - 1];
        shorter[i] = wanted[k] == wanted[i] ? k + 1 : 0;
    }
    const auto step = [&](size_t k, uint32_t c) {
        while (k > 0 && wanted[k] != c) k = shorter[k - 1];
        return wanted[k] == c ? k + 1 : 0;
    };
    Automaton without;
    without.states.resize(n);
    for (size_t k = 0; k < n; ++k) {
        // `end` must not be complete before its last character.
        size_t at = k;
        bool   ok = true;
        for (size_t i = 0; i + 1 < n && ok; ++i) {
            at = step(at, wanted[i]);
            ok = at < n;
        }
        without.states[k].accepts = ok && step(at, wanted[n - 1]) == n;
        std::map<uint32_t, size_t> special;
        for (const uint32_t c : wanted) special[c] = step(k, c);
        uint32_t next = 1;
        auto&    edges = without.states[k].edges;
        const auto fill = [&](uint32_t low, uint32_t high) {
            if (low <= high && low < kFirstSurrogate) add_range(edges, low, std::min(high, kFirstSurrogate - 1), 0);
            if (low <= high && high > kLastSurrogate) add_range(edges, std::max(low, kLastSurrogate + 1), high, 0);
        };
        for (const auto& [c, to] : special) {
            fill(next, c - 1);
            if (to < n) add_range(edges, c, c, to);
            next = c + 1;
        }
        fill(next, kLastCharacter);
    }
    return both(without);
}

bool Automaton::accepts(const std::string& text) const {
    if (states.empty()) return false;
    size_t at = 0;
    for (const uint32_t c : to_characters(text)) {
        const Edge* edge = edge_of(states[at], c);
        if (edge == nullptr) return false;
        at = edge->to;
    }
    return states[at].accepts;
}

void Automaton::trim() {
    std::vector<std::vector<size_t>> sources(states.size());
    std::vector<bool>                is_useful(states.size());
    std::vector<size_t>              open;
    for (size_t i = 0; i < states.size(); ++i) {
        for (const Edge& edge : states[i].edges) sources[edge.to].push_back(i);
        if (!states[i].accepts) continue;
        is_useful[i] = true;
        open.push_back(i);
    }
    while (!open.empty()) {
        const size_t at = open.back();
        open.pop_back();
        for (const size_t source : sources[at]) {
            if (is_useful[source]) continue;
            is_useful[source] = true;
            open.push_back(source);
        }
    }
    if (states.empty() || !is_useful[0]) {
        states.clear();
        return;
    }
    std::vector<size_t> numbers(states.size());
    std::vector<State>  kept;
    for (size_t i = 0, n = 0; i < states.size(); ++i) {
        if (is_useful[i]) numbers[i] = n++;
    }
    for (size_t i = 0; i < states.size(); ++i) {
        if (!is_useful[i]) continue;
        State state{states[i].accepts, {}};
        for (const Edge& edge : states[i].edges) {
            if (is_useful[edge.to]) state.edges.push_back({edge.low, edge.high, numbers[edge.to]});
        }
        kept.push_back(std::move(state));
    }
    states = std::move(kept);
}

std::string Automaton::to_gbnf(const std::string& prefix) const {
    std::string gbnf;
    for (size_t i = 0; i < states.size(); ++i) {
        std::map<size_t, std::string> sets;
        for (const Edge& edge : states[i].edges) {
            sets[edge.to] += in_set(edge.low) + (edge.low == edge.high ? "" : "-" + in_set(edge.high));
        }
        std::string choices = states[i].accepts ? "\"\"" : "";
        for (const auto& [to, set] : sets) {
            if (!choices.empty()) choices += " | ";
            choices += "[" + set + "] " + prefix + "-" + std::to_string(to);
        }
        gbnf += prefix + "-" + std::to_string(i) + " ::= " + choices + "\n";
    }
    return gbnf;
}

}  // namespace chasqui
