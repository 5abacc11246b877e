#include "argument-schema.h"
#include "presence.h"

#include <map>
#include <utility>
#include <vector>

// The members of arguments, and those of objects in them.
namespace chasqui {

namespace {

// Keywords about whole objects. Formats with raw strings write each member on its own.
constexpr const char* kOfObjects[] = {"anyOf", "oneOf", "not", "if", "const", "enum", "minProperties", "maxProperties",
                                      "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"};

// Several schemas of a member apply together.
ArgumentSchema::Property& add(ArgumentSchema::Properties& all, const std::string& name, const common_json& property) {
    const auto [found, is_new] = all.indexes.emplace(name, all.list.size());
    if (is_new) all.list.push_back({name, property, false});
    if (is_new) all.parts.emplace_back();
    ArgumentSchema::Property& known = all.list[found->second];
    if (all.parts[found->second].insert(property.dump()).second && !is_new && !is_true(property)) {
        if (!known.is_joined) known.schema = common_json{{"allOf", common_json::array({common_json(known.schema)})}};
        known.is_joined = true;
        known.schema["allOf"].push_back(property);
    }
    return known;
}

}  // namespace

// Adds the members of all alternatives. A call has the required members of at least one; the rest is not enforced.
void ArgumentSchema::merge_alternatives(const common_json& list, const std::string& name, Properties& all, int depth) const {
    std::map<std::string, common_json> members;
    common_json                        sets = common_json::array();
    for (const common_json* choice : parts_of(list)) {
        if (other_types(*choice).count("object") == 0) continue;
        Properties one;
        merge(*choice, one, depth + 1);
        common_json required = common_json::array();
        for (const Property& property : one.list) {
            if (property.is_required) required.push_back(property.name);
            if (property.schema.is_boolean() && !is_true(property.schema)) continue;
            members.emplace(property.name, common_json::array()).first->second.push_back(property.schema);
        }
        sets.push_back(common_json{{"required", required}});
    }
    for (const auto& [member, schemas] : members) {
        if (all.indexes.count(member) == 0) add(all, member, common_json{{"anyOf", schemas}});
    }
    if (sets.size() > 0) all.conditions.push_back({name, common_json{{"anyOf", sets}}});
}

void ArgumentSchema::merge(const common_json& given, Properties& all, int depth) const {
    const common_json& schema = resolve(given);
    if (!schema.is_object() || depth > kMaxDepth) return;
    std::vector<std::pair<std::string, const char*>> alternatives;
    const bool                                       of_arguments = depth == 0 && all.of_arguments;
    for (const char* keyword : kOfObjects) {
        if (!schema.contains(keyword)) continue;
        const std::string name      = name_of(keyword, given, of_arguments);
        common_json       condition = {{keyword, schema.at(keyword)}};
        for (const char* branch : {"then", "else"}) {
            if (condition.contains("if") && schema.contains(branch)) condition[branch] = schema.at(branch);
        }
        if (is_about_presence(condition)) {
            all.conditions.push_back({name, condition});
        } else if (condition.contains("not")) {
            all.excluded.push_back({name, condition.at("not")});
        } else {
            ignored_.insert(name);
            if (condition.contains("anyOf") || condition.contains("oneOf")) alternatives.emplace_back(name, keyword);
        }
    }
    const bool is_closed = schema.contains("unevaluatedProperties") && schema.at("unevaluatedProperties").is_boolean();
    if (schema.contains("unevaluatedProperties") && (depth > 0 || !is_closed)) ignored_.insert("unevaluatedProperties");
    if (schema.contains("properties")) {
        for (const auto& [name, property] : schema.at("properties").items()) add(all, name, property);
    }
    if (schema.contains("allOf")) {
        for (const common_json* part : parts_of(schema.at("allOf"))) merge(*part, all, depth + 1);
    }
    const bool lists_required = schema.contains("required") && schema.at("required").is_array();
    for (size_t i = 0; lists_required && i < schema.at("required").size(); ++i) {
        const common_json& name = schema.at("required").at(i);
        if (name.is_string()) add(all, name.get<std::string>(), common_json::make(true)).is_required = true;
    }
    for (const auto& [name, keyword] : alternatives) merge_alternatives(schema.at(keyword), name, all, depth);
    if (!schema.contains("additionalProperties") || schema.contains("patternProperties")) return;
    Properties::Closed closed{{}, schema.at("additionalProperties")};
    if (is_true(closed.others)) return;
    if (schema.contains("properties")) {
        for (const auto& [name, property] : schema.at("properties").items()) closed.names.insert(name);
    }
    all.closed.push_back(std::move(closed));
}

std::string ArgumentSchema::name_of(const char* keyword, const common_json& given, bool of_arguments) const {
    const bool is_one = given.is_object() && given.contains("$comment") && given.at("$comment").dump() == '"' + kOfOneOf + '"';
    if (is_one) keyword = "oneOf";
    return of_arguments && &resolve(given) == &given ? named(keyword) : keyword;
}

bool ArgumentSchema::has_limits(const common_json& object) {
    if (!object.is_object()) return false;
    for (const auto& [name, value] : object.items()) {
        if (name != "type" && schema::is_assertion(name) && value.dump() != "{}" && value.dump() != "[]") return true;
    }
    return false;
}

std::optional<common_json> ArgumentSchema::others_of(const common_json& given, const Properties& properties,
                                                     bool is_writable) const {
    const common_json& schema = resolve(given);
    if (!schema.is_object() || !schema.contains("additionalProperties")) return std::nullopt;
    const common_json& others = schema.at("additionalProperties");
    if (others.is_boolean() && !is_true(others)) return std::nullopt;
    bool is_restricted = !is_writable || !properties.conditions.empty();
    for (const char* keyword : {"allOf", "patternProperties", "propertyNames", "maxProperties"}) {
        is_restricted = is_restricted || schema.contains(keyword);
    }
    if (!is_restricted) return others;
    ignored_.insert(name_of("additionalProperties", given, properties.of_arguments));
    return std::nullopt;
}

ArgumentSchema::Properties ArgumentSchema::read(const common_json& schema, bool of_arguments,
                                                const std::vector<common_json>& excluded) const {
    Properties all;
    all.of_arguments = of_arguments;
    merge(schema, all, 0);
    settle(all);
    for (const common_json& other : excluded) all.excluded.push_back({named("oneOf"), other});
    for (const Condition& other : all.excluded) exclude(other, all);
    return all;
}

// Applies `additionalProperties` to the members that other parts of the schema describe, and drops those without a value.
void ArgumentSchema::settle(Properties& all) const {
    for (const Properties::Closed& closed : all.closed) {
        for (size_t i = 0; i < all.list.size(); ++i) {
            if (closed.names.count(all.list[i].name) == 0) add(all, all.list[i].name, closed.others);
        }
    }
    std::vector<Property> possible;
    for (Property& each : all.list) {
        const bool may_fail = each.is_joined || each.schema.is_boolean();
        if (!may_fail || !other_types(each.schema).empty() || !texts(each.schema).is_empty()) {
            possible.push_back(std::move(each));
            continue;
        }
        all.is_possible = all.is_possible && !each.is_required;
        all.never.push_back(each.name);
    }
    all.list = std::move(possible);
    all.indexes.clear();
    for (size_t i = 0; i < all.list.size(); ++i) all.indexes[all.list[i].name] = i;
}

namespace {

// Formats with their own arrays write one kind of items.
constexpr const char* kOfArrays[] = {"anyOf", "oneOf", "not", "if", "const", "enum",
                                     "uniqueItems", "contains", "prefixItems", "unevaluatedItems"};

// Each item has one of the schemas of a tuple, because the format writes one kind of items.
void add_tuple(const common_json& schema, ArgumentSchema::Items& all) {
    const common_json& tuple = schema.at("prefixItems");
    const common_json  rest  = schema.value("items", common_json::make(true));
    const auto         n     = static_cast<int64_t>(tuple.size());
    if (rest.is_boolean() && !is_true(rest)) all.max = std::min(all.max, n);
    common_json any = tuple;
    if (all.max > n) any.push_back(rest);
    if (any.size() > 0) all.each.push_back(common_json{{"anyOf", any}});
}

}  // namespace

ArgumentSchema::Items ArgumentSchema::items_of(const common_json& given, int depth) const {
    const common_json& schema = resolve(given);
    Items              all;
    if (!schema.is_object() || depth > kMaxDepth) return all;
    const auto add = [&](const common_json& item) { all.each.push_back(item); };
    for (const auto& [name, value] : schema.items()) {
        if (name == "items" && !schema.contains("prefixItems")) add(value);
        if (name == "minItems") all.min = static_cast<int64_t>(std::min(value.get<double>(), 1e9));
        if (name == "maxItems") all.max = static_cast<int64_t>(std::min(value.get<double>(), 1e9));
        for (size_t i = 0; name == "allOf" && i < value.size(); ++i) {
            const Items part = items_of(value.at(i), depth + 1);
            for (size_t j = 0; j < part.each.size(); ++j) add(part.each.at(j));
            all.min = std::max(all.min, part.min);
            all.max = std::min(all.max, part.max);
        }
        if (name == "not" && other_types(value).count("array") == 0) continue;
        const bool is_reported = std::find(std::begin(kOfArrays), std::end(kOfArrays), name) != std::end(kOfArrays);
        if (is_reported) ignored_.insert(name_of(name.c_str(), schema, false));
    }
    if (schema.contains("prefixItems")) add_tuple(schema, all);
    all.whole = all.each.size() == 1 ? all.each.at(0) : common_json{{"allOf", all.each}};
    if (other_types(all.whole).empty() && texts(all.whole).is_empty()) all.max = 0;
    return all;
}

}  // namespace chasqui
