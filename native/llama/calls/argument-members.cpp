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
    for (const char* keyword : kOfObjects) {
        if (!schema.contains(keyword)) continue;
        const std::string name      = (&schema == &root_ ? kOfParameters : "") + keyword;
        common_json       condition = {{keyword, schema.at(keyword)}};
        for (const char* branch : {"then", "else"}) {
            if (condition.contains("if") && schema.contains(branch)) condition[branch] = schema.at(branch);
        }
        if (is_about_presence(condition)) {
            all.conditions.push_back({name, condition});
        } else {
            ignored_.insert(name);
            if (condition.contains("anyOf") || condition.contains("oneOf")) alternatives.emplace_back(name, keyword);
        }
    }
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
    ignored_.insert((&schema == &root_ ? kOfParameters : "") + "additionalProperties");
    return std::nullopt;
}

ArgumentSchema::Properties ArgumentSchema::properties_of(const common_json& schema) const {
    Properties all;
    merge(schema, all, 0);
    return all;
}

}  // namespace chasqui
