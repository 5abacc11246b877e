// Thread: any, one at a time.
#pragma once

#include "shape.h"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace chasqui::schema {

// A part of the schema that has no cases: it is too large, or its opposite cannot be expressed.
struct NotExpressible : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The items of an array: some with nodes of their own, then any number of one kind, `min` to `max` in all.
struct ItemPlan {
    std::vector<NodeId> prefix;
    NodeId              rest;
    size_t              min, max;
};

// The schemas of one document and their nodes. Throws std::runtime_error for what is no schema, with its place.
class Schemas {
public:
    explicit Schemas(const common_json& root);

    NodeId root() { return node_of(0); }
    NodeId both(NodeId one, NodeId other);
    NodeId either(NodeId one, NodeId other);

    // The schema that a `$ref` of the root means; null if it is in another document.
    const common_json* referred(const std::string& reference) const;

    const Shape& shape_of(NodeId node);
    bool         is_empty(NodeId node);
    bool         is_possible(const Case& each);
    bool         allows(NodeId node, const common_json& value);
    // The possible cases. A schema without a type also allows values of types that its keywords say nothing about. These are
    // left out: `{"minLength": 1}` means a string.
    std::vector<const Case*> likely_cases(NodeId node);

    // Null if no array is allowed.
    std::optional<ItemPlan> plan_of(const ArrayLimits& limits);

    // Whether a name is allowed by `propertyNames`, and the node of its value.
    NodeId property(const ObjectLimits& limits, const std::string& name);

    // Null if the pattern is too large, which is reported.
    const Automaton* automaton_of(const PatternPtr& pattern);
    // The texts of a string's characters or of a number; null if it takes no automaton to write their grammar.
    std::optional<Automaton> language_of(const Case& each);
    Budget&                  budget() { return budget_; }

    void report(const std::string& place);
    // The paths of what is not enforced, such as `.properties.a.format`.
    const std::vector<std::string>& unenforced() const { return unenforced_; }

private:
    using Keywords = std::map<std::string, const common_json*>;

    // A literal is a schema or its opposite: twice its number, plus one for the opposite.
    using Literal = int;

    // The schemas that `$dynamicRef` means, by $dynamicAnchor. A schema has one location for each scope that it is read in.
    using Scope = std::map<std::string, std::string>;

    // What an $id begins.
    struct Resource {
        std::string base;
        Scope       dynamic;
    };

    struct Identified {
        const common_json* schema;
        std::string        pointer, place;
        bool               is_dynamic;
    };

    struct Location {
        const common_json* schema;
        std::string        pointer;  // for errors
        std::string        place;    // for the report
        int                scope;
        Keywords           keywords = {};
        std::optional<std::pair<NodeId, NodeId>> either = {};  // of a schema of our own: a value of one of these
        bool               is_read  = false;
    };

    struct Node {
        std::vector<Literal>   literals;  // sorted
        std::unique_ptr<Shape> shape;
        enum class Emptiness { unknown, asked, no, yes } emptiness = Emptiness::unknown;
    };

    [[noreturn]] void fail(int location, const std::string& reason) const;
    void              ignore(int location, const std::string& keyword);
    void              count_cases(const Shape& shape);

    int             locate(const common_json& schema, const std::string& pointer, const std::string& place, int scope);
    int             child(int location, const std::string& keyword);
    int             child(int location, const std::string& keyword, size_t index);
    int             child(int location, const std::string& keyword, const std::string& name, const common_json& schema);
    const Keywords& keywords_of(int location);
    NodeId          node_of(std::vector<Literal> literals);
    NodeId          node_of(int location) { return node_of(std::vector<Literal>{2 * location}); }
    NodeId          opposite_of(int location) { return node_of(std::vector<Literal>{2 * location + 1}); }

    // schema-references.cpp
    int     target_of(int location, const std::string& keyword);
    const Resource&   resource_of(const common_json& schema) const;
    const Identified* identified(const Resource& from, const std::string& reference, std::string& fragment) const;
    int     pointed_at(const Identified& from, const std::string& pointer, int location);
    void    read_identifiers();
    int     scope_in(int scope, const common_json& schema);
    Literal resolve(Literal literal);

    // schema-cases.cpp: the cases of a schema, and of its opposite.
    const Shape&         cases_of(Literal literal);
    Shape                positive(int location);
    Shape                negative(int location);
    Shape                own_cases(int location);
    Shape                conjunction(const std::vector<Literal>& literals);
    Shape                disjunction(const std::vector<Literal>& literals);
    Shape                exactly_one(int location);
    Shape                all_but_one(int location);
    Shape                conditional(int location, bool negated);
    Shape                dependencies(int location, Shape shape);
    Shape                without_unevaluated(int location, Shape shape);
    bool                 is_disjoint(const std::vector<Literal>& literals);
    std::vector<Literal> parts(int location, const std::string& keyword, bool negated);

    // schema-keywords.cpp: the keywords of one type. schema-opposites.cpp: what violates them; `incomplete` becomes true if
    // more values do.
    unsigned              types_of(int location, bool& integer);
    unsigned              implied_by(int location);
    void                  read_number(int location, Case& each);
    void                  read_string(int location, Case& each);
    void                  read_array(int location, Case& each);
    void                  read_object(int location, Case& each);
    std::optional<size_t> count(int location, const std::string& keyword);
    std::optional<double> bound(int location, const std::string& keyword);
    PatternPtr            pattern(int location, const std::string& keyword, const std::string& source);
    void                  check_order(int location, const std::string& least, const std::string& most);
    Shape                 negative_keywords(int location, bool& incomplete);
    void                  negative_numbers(int location, Shape& shape);
    void                  negative_strings(int location, Shape& shape, bool& incomplete);
    void                  negative_arrays(int location, Shape& shape, bool& incomplete);
    void                  negative_objects(int location, Shape& shape, bool& incomplete);
    Shape                 none_of_values(const std::vector<const common_json*>& values);
    NodeId                constant(const common_json& value, bool negated);

    // schema-algebra.cpp
    std::optional<Case> meet(const Case& one, const Case& other);
    Shape               product(const Shape& one, const Shape& other);
    bool                accepts(const Case& each, const common_json& value);

    std::optional<Automaton> language_of(const NumberLimits& limits, const std::string& place);

    const common_json&                              root_;
    std::deque<Location>                            locations_;
    std::map<std::pair<const common_json*, int>, int> by_schema_;  // and its scope
    std::deque<Node>                                nodes_;
    std::map<std::vector<Literal>, NodeId>          by_literals_;
    std::unordered_map<Literal, std::unique_ptr<Shape>> cases_;
    std::unordered_set<Literal>                     open_;
    std::map<std::string, PatternPtr>               patterns_;
    std::map<std::string, Identified>               identified_;  // by $id, with $anchor behind `#`
    std::vector<Resource>                           resources_;   // the first is the document
    std::unordered_map<const common_json*, int>     resource_of_;  // of the schemas in other resources than the first
    std::vector<Scope>                              scopes_   = {{}};
    std::map<Scope, int>                            by_scope_ = {{{}, 0}};
    std::deque<common_json>                         constants_;
    std::map<std::pair<NodeId, NodeId>, int>        unions_;
    Budget                                          budget_;
    size_t                                          n_cases_ = 0;
    unsigned                                        depth_ = 0;
    std::vector<std::string>                        unenforced_;
    std::unordered_set<std::string>                 reported_;
};

// One case for each type, without limits.
Shape any_value();
Case  case_of(Type type);
Type  type_of(const common_json& value);
// False for keywords that only describe.
bool is_assertion(const std::string& keyword);

}  // namespace chasqui::schema
