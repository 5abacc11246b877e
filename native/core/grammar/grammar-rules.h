// Thread: any, once built; a builder belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace chasqui {

// One element of a rule: a byte of a range, the text of another rule, a token, or any token but one.
class GrammarSymbol {
public:
    enum class Kind : uint32_t { bytes, rule, token, other_token };

    static GrammarSymbol bytes(uint32_t low, uint32_t high) { return {Kind::bytes, low | high << 8}; }
    static GrammarSymbol rule(uint32_t rule) { return {Kind::rule, rule}; }
    static GrammarSymbol token(uint32_t token, bool is_other) {
        return {is_other ? Kind::other_token : Kind::token, token};
    }

    Kind     kind() const { return static_cast<Kind>(packed_ >> kValueBits); }
    uint32_t value() const { return packed_ & ((1u << kValueBits) - 1); }  // a rule or a token
    uint32_t low() const { return packed_ & 0xFF; }
    uint32_t high() const { return packed_ >> 8 & 0xFF; }
    bool     matches_byte(uint32_t byte) const { return kind() == Kind::bytes && low() <= byte && byte <= high(); }
    bool     operator==(GrammarSymbol other) const { return packed_ == other.packed_; }
    bool     operator<(GrammarSymbol other) const { return packed_ < other.packed_; }

private:
    static constexpr uint32_t kValueBits = 30;
    GrammarSymbol(Kind kind, uint32_t value) : packed_(static_cast<uint32_t>(kind) << kValueBits | value) {}
    uint32_t packed_;
};

using GrammarSequence = std::vector<GrammarSymbol>;

// First and last code point.
using CharacterRange = std::pair<uint32_t, uint32_t>;

// A grammar: one automaton for each rule. Characters are bytes of UTF-8. Alternatives share the edges of a common
// beginning, so the number of ways to continue a text does not grow with an enumeration:
//
//   x ::= "cat" | "car" y        start -c-> . -a-> . -t-> (final)
//                                                  . -r-> . -y-> (final)
struct GrammarRules {
    static constexpr uint32_t kNone = UINT32_MAX;

    struct Node {
        uint32_t first_edge : 31;  // index of an edge, or kNoEdge
        uint32_t is_final : 1;     // the text of the rule may end here
    };
    struct Edge {
        GrammarSymbol symbol;
        uint32_t      target;  // a node
        uint32_t      next;    // another edge of the same node, or kNoEdge
    };
    static constexpr uint32_t kNoEdge = UINT32_MAX >> 1;

    std::vector<Node>     nodes;
    std::vector<Edge>     edges;
    std::vector<uint32_t> starts;  // by rule: its first node
    uint32_t              root = 0;

    // Bytes that no edge tells apart have the same class.
    std::array<uint8_t, 256> byte_classes{};

    // Nothing follows in the rule.
    bool   is_end(uint32_t node) const { return nodes[node].is_final != 0 && nodes[node].first_edge == kNoEdge; }
    size_t size_bytes() const;
};

// Builds a grammar from symbols. Limits, for grammars from requests:
//
//   rules        262,144; each group, each repetition, and each different set of characters is one
//   repetitions  2 million symbols in total
//
// Throws std::runtime_error if one is exceeded.
class GrammarBuilder {
public:
    GrammarBuilder();

    uint32_t add_rule();
    bool     is_defined(uint32_t rule) const { return rules_->starts[rule] != GrammarRules::kNone; }
    // Replaces the definition, if there is one. `alternatives` may be in any order, and empty: then no text matches.
    void define(uint32_t rule, std::vector<GrammarSequence> alternatives);
    // A rule for `item`, `min` to `max` times (nullopt: no limit). `max` >= `min`, and at least 1.
    uint32_t add_repetition(const GrammarSequence& item, uint32_t min, std::optional<uint32_t> max);
    // A code point that is no character, such as a surrogate, matches nothing.
    void append_character(GrammarSequence& sequence, uint32_t character);
    // Appends one character of a set, which is the union of `ranges` or what is not in it.
    void append_set(GrammarSequence& sequence, std::vector<CharacterRange> ranges, bool is_negated);

    // All rules must be defined. Throws std::runtime_error if matching could go on forever without reading a
    // character: left recursion.
    std::shared_ptr<const GrammarRules> finish(uint32_t root);

private:
    uint32_t add_node();
    uint32_t add_edge(uint32_t node, GrammarSymbol symbol);
    void     connect(uint32_t node, GrammarSymbol symbol, uint32_t target);
    uint32_t append(uint32_t node, const GrammarSequence& sequence);
    void     find_byte_classes();

    std::shared_ptr<GrammarRules>                   rules_;
    std::map<std::vector<CharacterRange>, uint32_t> sets_;  // rules
    size_t                                          n_repeated_ = 0;
};

// Whether a rule can lead back to itself before it has read a character, and with more to come after it. Takes linear
// time.
bool has_left_recursion(const GrammarRules& rules);

}  // namespace chasqui
