// Thread: any.
#pragma once

#include "patterns/automaton.h"
#include "numbers.h"

#include <json.h>

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// A schema in disjunctive normal form: a value is allowed if one of the cases allows it. A case is about one type
// of value. Schemas within, such as those of properties, are nodes: conjunctions of schemas that get their own cases on demand.
namespace chasqui::schema {

enum class Type : uint8_t { null, boolean, number, string, array, object };
constexpr size_t kTypes = 6;

using NodeId = int;
constexpr NodeId kAnything = 0;  // the node of no schema
constexpr NodeId kNothing  = 1;  // the node of `false`

constexpr size_t kUnlimited = ~size_t{0};

// A regular expression of the schema. Its automaton is made on demand.
struct Pattern {
    RegexPtr                   regex;
    std::vector<std::string>   places;  // for the report if the automaton is too large
    std::unique_ptr<Automaton> automaton;
};
using PatternPtr = std::shared_ptr<Pattern>;

struct StringLimits {
    size_t                  min = 0, max = kUnlimited;
    std::vector<PatternPtr> accepted, rejected;
};

// `prefixItems` and `items` of one schema.
struct ItemLayer {
    std::vector<NodeId> prefix;
    NodeId              rest      = kAnything;
    bool                has_rest  = false;
    bool                evaluates = true;  // counts for `unevaluatedItems`

    NodeId at(size_t i) const { return i < prefix.size() ? prefix[i] : rest; }
};

struct Contained {
    NodeId node, otherwise;  // of the items that count, and of those that do not
    size_t min, max;
    bool   evaluates = false;  // they count for `unevaluatedItems`
};

struct ArrayLimits {
    std::vector<std::shared_ptr<const ItemLayer>> layers;
    std::vector<Contained>                        contained;
    size_t                                        min = 0, max = kUnlimited;
    bool                                          has_min = false;
    std::string                                   unique;  // where `uniqueItems` is, empty if nowhere
};

// `properties`, `patternProperties` and `additionalProperties` of one schema.
struct NameLayer {
    std::vector<std::pair<std::string, NodeId>>  properties;
    std::unordered_map<std::string, NodeId>      by_name;
    std::vector<std::pair<PatternPtr, NodeId>>   patterns;
    NodeId                                       additional     = kAnything;
    bool                                         has_additional = false;
    bool                                         has_properties = false;  // even if `properties` is empty
    bool                                         evaluates      = true;   // counts for `unevaluatedProperties`

    void add(const std::string& name, NodeId node) {
        has_properties = true;
        properties.emplace_back(name, node);
        by_name.emplace(name, node);
    }
};

struct ObjectLimits {
    std::vector<std::shared_ptr<const NameLayer>> layers;
    std::vector<std::string>                      required;  // each once
    std::vector<NodeId>                           names;     // `propertyNames`
    size_t                                        min = 0, max = kUnlimited;
    std::string                                   counted;  // where minProperties is
};

struct Case {
    Type               type        = Type::null;
    bool               has_type    = false;    // a keyword names the type
    unsigned           implied     = 0;        // types that keywords are about: bits
    const common_json* literal     = nullptr;  // the only value, if not null
    bool               no_true     = false, no_false = false;
    NumberLimits       number      = {};
    std::string        multiple    = {};       // where multipleOf is
    StringLimits       string      = {};
    ArrayLimits        array       = {};
    ObjectLimits       object      = {};
};

using Shape = std::vector<Case>;

inline unsigned    bit(Type type) { return 1U << static_cast<unsigned>(type); }
constexpr unsigned kAllTypes = (1U << kTypes) - 1;

// Whether a case allows all values of its type.
bool is_unlimited(const Case& each);

}  // namespace chasqui::schema
