// Thread: any.
#pragma once

#include "../schema/schemas.h"
#include "raw-texts.h"

#include <json.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chasqui {

// Before the name of a keyword that is not enforced in the schema of the arguments themselves, but may be elsewhere.
inline const std::string kOfParameters = "parameters.";

// Marks, as `$comment`, a schema with a `not` for the other alternatives of `oneOf`.
inline const std::string kOfOneOf = "of oneOf";

inline bool is_true(const common_json& schema) { return schema.is_boolean() && schema.get<bool>(); }

// Reads the JSON schema of a tool's arguments, for formats with raw strings.
class ArgumentSchema {
public:
    explicit ArgumentSchema(common_json root) : root_(std::move(root)) {}

    struct Property {
        std::string name;
        common_json schema;
        bool        is_required = false;
        bool        is_joined   = false;  // several parts of the schema describe it
        std::optional<common_json> anywhere = std::nullopt;  // its values in all alternatives together, if these differ
    };

    const common_json& root() const { return root_; }
    // The name of a keyword of the arguments in reports. The keyword may come from a part of their schema.
    std::string named(const std::string& keyword) const {
        return (root_.is_object() && root_.contains(keyword) ? kOfParameters : "") + keyword;
    }
    std::set<std::string> named_alternatives() const {
        for (const std::string keyword : {"anyOf", "oneOf"}) {
            if (named(keyword) != keyword) return {named(keyword)};
        }
        return {"anyOf", "oneOf"};
    }

    // A condition on the set of members (presence.h). `name`: of the keyword in reports.
    struct Condition {
        std::string name;
        common_json schema;
    };
    struct Properties {
        std::vector<Property>                   list;
        std::vector<Condition>                  conditions;
        std::unordered_map<std::string, size_t> indexes;
        std::vector<std::unordered_set<std::string>> parts;  // the different schemas of each
        bool of_arguments = false, is_possible = true;
        std::vector<Condition> excluded;  // schemas that the members do not fulfill

        // The schema of names that a part of the whole does not list.
        struct Closed {
            std::unordered_set<std::string> names;
            common_json                     others;
        };
        std::vector<Closed> closed;
        std::vector<std::string> never;  // names without a permitted value
    };
    // One of the forms of the arguments, after `anyOf` and `oneOf`.
    struct Alternative {
        common_json schema;
        Properties  properties;
    };

    // The possible forms of the arguments, each with the members that `allOf` and references add. One form with all members
    // if there are too many combinations, which is reported.
    std::vector<Alternative> forms() const;
    Properties               properties_of(const common_json& schema) const { return read(schema, false, {}); }

    // The schema of members without a name in `properties`, if the schema asks for them. Lists `additionalProperties` in
    // `ignored` if the format cannot write them, or if other keywords restrict them.
    std::optional<common_json> others_of(const common_json& schema, const Properties& properties, bool is_writable) const;

    // False for a schema that permits any object.
    static bool has_limits(const common_json& object);

    // The strings among these that the schema permits. A keyword is listed in `ignored` if its automaton would be too large.
    schema::Automaton texts(const common_json& schema, schema::Automaton among = raw_texts::any()) const {
        return texts(schema, std::move(among), 0);
    }
    // Types of permitted values that are not strings.
    std::set<std::string> other_types(const common_json& schema) const { return other_types(schema, 0); }
    // The schema of those values, with the definitions that it refers to.
    common_json without_texts(const common_json& schema) const;
    // A part of the schema, with the definitions that it refers to.
    common_json with_definitions(common_json schema) const;
    // The items of an array that a format writes on its own. Lists other keywords about arrays in `ignored`.
    struct Items {
        common_json each = common_json::array(), whole;  // schemas, and one of all of them
        int64_t     min = 0, max = INT64_MAX;
    };
    Items items_of(const common_json& array, int depth = 0) const;
    // The alternatives of a schema, each without references and with one type.
    std::vector<common_json> alternatives(const common_json& schema) const;

    // A simpler form for templates that fail for references, alternatives or missing types. `flat`: also for arrays.
    common_json described(bool flat) const { return described(root_, flat, 0); }

    const std::set<std::string>& ignored() const { return ignored_; }

private:
    static constexpr int kMaxDepth = 32;

    schema::Automaton        texts(const common_json& schema, schema::Automaton all, int depth) const;
    std::set<std::string>    other_types(const common_json& schema, int depth) const;
    common_json              described(const common_json& schema, bool flat, int depth) const;
    common_json              strip_texts(const common_json& schema, int depth) const;
    const common_json&       resolve(const common_json& schema) const;
    const common_json&       target_of(const common_json& schema, const char* keyword) const;
    // The schemas of a list. References to one schema are listed once.
    std::vector<const common_json*> parts_of(const common_json& list) const;
    common_json              with_rest(const common_json& schema, const std::string& keyword, const common_json& choice,
                                       const std::vector<const common_json*>& choices) const;
    void                     collect(const common_json& schema, std::vector<common_json>& all, int depth) const;
    Properties               read(const common_json& schema, bool of_arguments, const std::vector<common_json>& excluded) const;
    void                     settle(Properties& all) const;
    std::string              name_of(const char* keyword, const common_json& given, bool of_arguments) const;

    // argument-forms.cpp
    struct Choice {
        std::vector<common_json> parts, excluded;
        bool                     is_chosen = false;
    };
    std::optional<std::vector<Choice>> choices_of(const common_json& schema, int depth) const;
    void                               exclude(const Condition& other, Properties& all) const;
    bool                               are_disjoint(const common_json& one, const common_json& other) const;
    std::optional<std::vector<common_json>> values_of(const common_json& schema, int depth) const;
    void                     merge(const common_json& schema, Properties& all, int depth) const;
    void                     merge_alternatives(const common_json& list, const std::string& name, Properties& all, int depth) const;

    const common_json             root_;
    mutable std::unique_ptr<schema::Schemas> schemas_;  // made for the first reference
    mutable std::set<std::string> ignored_;
    mutable schema::Budget        budget_;
    mutable size_t                n_resolved_ = 0, n_copied_ = 0;
    mutable std::unordered_map<std::string, common_json> joined_;  // schemas with keywords beside a reference
};

}  // namespace chasqui
