#include "grammar-rules.h"

#include <algorithm>
#include <bitset>
#include <stdexcept>
#include <string>

namespace chasqui {

namespace {

constexpr size_t kMaxRules    = 1 << 18;
constexpr size_t kMaxRepeated = 1 << 21;  // symbols

constexpr uint32_t kLastCharacter  = 0x10FFFF;
constexpr uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

using Kind = GrammarSymbol::Kind;

bool is_character(uint32_t c) { return c <= kLastCharacter && (c < kFirstSurrogate || c > kLastSurrogate); }

// Sorted ranges without overlaps and gaps of zero length.
std::vector<CharacterRange> normalized(std::vector<CharacterRange> ranges, bool is_negated) {
    std::sort(ranges.begin(), ranges.end());
    std::vector<CharacterRange> merged;
    for (const auto& [first, last] : ranges) {
        if (first > last || first > kLastCharacter) continue;
        if (merged.empty() || first > merged.back().second + 1) merged.push_back({first, 0});
        merged.back().second = std::max(merged.back().second, std::min(last, kLastCharacter));
    }
    if (!is_negated) return merged;
    std::vector<CharacterRange> others;
    uint32_t                    begin = 0;
    for (const auto& [first, last] : merged) {
        if (begin < first) others.push_back({begin, first - 1});
        begin = last + 1;
    }
    if (begin <= kLastCharacter) others.push_back({begin, kLastCharacter});
    return others;
}

std::vector<uint32_t> utf8(uint32_t c) {
    const auto tail = [c](int shift) { return 0x80 | (c >> shift & 0x3F); };
    if (c < 0x80) return {c};
    if (c < 0x800) return {0xC0 | c >> 6, tail(0)};
    if (c < 0x10000) return {0xE0 | c >> 12, tail(6), tail(0)};
    return {0xF0 | c >> 18, tail(12), tail(6), tail(0)};
}

// The longest range from `low` on that is one sequence of byte ranges ends here. Its characters have the same length in
// UTF-8. After the first byte that differs, all combinations of bytes follow.
uint32_t end_of_sequence(uint32_t low, uint32_t high) {
    for (const uint32_t last : {uint32_t{0x7F}, uint32_t{0x7FF}, kFirstSurrogate - 1, uint32_t{0xFFFF}}) {
        if (low <= last) high = std::min(high, last);
    }
    if (low < 0x80) return high;
    for (int shift = 18; shift > 0; shift -= 6) {
        const uint32_t tails = (1u << shift) - 1;
        if ((low & ~tails) == (high & ~tails)) continue;
        if ((low & tails) != 0) {
            high = low | tails;
        } else if ((high & tails) != tails) {
            high = (high & ~tails) - 1;
        }
    }
    return high;
}

std::vector<GrammarSequence> byte_sequences(const std::vector<CharacterRange>& ranges) {
    std::vector<GrammarSequence> sequences;
    for (auto [low, last] : ranges) {
        while (low <= last) {
            if (!is_character(low)) {
                low = kLastSurrogate + 1;
                continue;
            }
            const uint32_t end    = end_of_sequence(low, last);
            const auto     lowest = utf8(low), highest = utf8(end);
            sequences.emplace_back();
            for (size_t i = 0; i < lowest.size(); ++i) {
                sequences.back().push_back(GrammarSymbol::bytes(lowest[i], highest[i]));
            }
            low = end + 1;
        }
    }
    return sequences;
}

}  // namespace

size_t GrammarRules::size_bytes() const {
    return nodes.size() * sizeof(Node) + edges.size() * sizeof(Edge) + starts.size() * sizeof(starts[0]);
}

GrammarBuilder::GrammarBuilder() : rules_(std::make_shared<GrammarRules>()) {}

uint32_t GrammarBuilder::add_rule() {
    if (rules_->starts.size() >= kMaxRules) {
        throw std::runtime_error("more than " + std::to_string(kMaxRules) + " rules");
    }
    rules_->starts.push_back(GrammarRules::kNone);
    return static_cast<uint32_t>(rules_->starts.size() - 1);
}

void GrammarBuilder::define(uint32_t rule, std::vector<GrammarSequence> alternatives) {
    std::sort(alternatives.begin(), alternatives.end());
    alternatives.erase(std::unique(alternatives.begin(), alternatives.end()), alternatives.end());
    std::vector<uint32_t> path{add_node()};  // of the previous alternative: the node before each of its symbols
    rules_->starts[rule]            = path[0];
    const GrammarSequence* previous = nullptr;
    for (const GrammarSequence& alternative : alternatives) {
        size_t n_shared = 0;
        if (previous != nullptr) {
            const size_t n = std::min(previous->size(), alternative.size());
            while (n_shared < n && alternative[n_shared] == (*previous)[n_shared] &&
                   alternative[n_shared].kind() != Kind::rule) {
                ++n_shared;
            }
        }
        path.resize(n_shared + 1);
        for (size_t i = n_shared; i < alternative.size(); ++i) path.push_back(add_edge(path.back(), alternative[i]));
        rules_->nodes[path.back()].is_final = 1;
        previous                            = &alternative;
    }
}

uint32_t GrammarBuilder::add_repetition(const GrammarSequence& item, uint32_t min, std::optional<uint32_t> max) {
    const uint32_t rule = add_rule(), n = max.value_or(min);
    n_repeated_ += item.size() * n;
    if (n_repeated_ > kMaxRepeated) {
        throw std::runtime_error("repetitions make more than " + std::to_string(kMaxRepeated) + " elements");
    }
    uint32_t node        = add_node();
    rules_->starts[rule] = node;
    for (uint32_t i = 0; i < n; ++i) {
        if (i >= min) rules_->nodes[node].is_final = 1;
        node = append(node, item);
    }
    rules_->nodes[node].is_final = 1;
    if (!max) connect(append(node, {item.begin(), item.end() - 1}), item.back(), node);
    return rule;
}

void GrammarBuilder::append_character(GrammarSequence& sequence, uint32_t character) {
    if (!is_character(character)) return append_set(sequence, {}, false);
    for (const uint32_t byte : utf8(character)) sequence.push_back(GrammarSymbol::bytes(byte, byte));
}

void GrammarBuilder::append_set(GrammarSequence& sequence, std::vector<CharacterRange> ranges, bool is_negated) {
    ranges                 = normalized(std::move(ranges), is_negated);
    const auto [at, added] = sets_.try_emplace(ranges, GrammarRules::kNone);
    if (added) {
        std::vector<GrammarSequence> sequences = byte_sequences(ranges);
        if (sequences.size() == 1) {
            sets_.erase(at);
            sequence.insert(sequence.end(), sequences[0].begin(), sequences[0].end());
            return;
        }
        at->second = add_rule();
        define(at->second, std::move(sequences));
    }
    sequence.push_back(GrammarSymbol::rule(at->second));
}

std::shared_ptr<const GrammarRules> GrammarBuilder::finish(uint32_t root) {
    rules_->root = root;
    if (has_left_recursion(*rules_)) throw std::runtime_error("left recursion");
    find_byte_classes();
    rules_->nodes.shrink_to_fit();
    rules_->edges.shrink_to_fit();
    return std::move(rules_);
}

uint32_t GrammarBuilder::add_node() {
    rules_->nodes.push_back({GrammarRules::kNoEdge, 0});
    return static_cast<uint32_t>(rules_->nodes.size() - 1);
}

// Returns the new node that the edge leads to.
uint32_t GrammarBuilder::add_edge(uint32_t node, GrammarSymbol symbol) {
    const uint32_t target = add_node();
    connect(node, symbol, target);
    return target;
}

void GrammarBuilder::connect(uint32_t node, GrammarSymbol symbol, uint32_t target) {
    GrammarRules::Node& from = rules_->nodes[node];
    rules_->edges.push_back({symbol, target, from.first_edge});
    from.first_edge = static_cast<uint32_t>(rules_->edges.size() - 1);
}

// Returns the node at the end of the sequence.
uint32_t GrammarBuilder::append(uint32_t node, const GrammarSequence& sequence) {
    for (const GrammarSymbol symbol : sequence) node = add_edge(node, symbol);
    return node;
}

void GrammarBuilder::find_byte_classes() {
    std::bitset<257> begins;  // of a class
    for (const GrammarRules::Edge& edge : rules_->edges) {
        if (edge.symbol.kind() != Kind::bytes) continue;
        begins.set(edge.symbol.low());
        begins.set(edge.symbol.high() + 1);
    }
    uint8_t current = 0;
    for (size_t byte = 1; byte < 256; ++byte) {
        if (begins[byte]) ++current;
        rules_->byte_classes[byte] = current;
    }
}

}  // namespace chasqui
