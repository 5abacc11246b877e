#include "argument-schema.h"
#include "presence.h"

#include <algorithm>
#include <map>
#include <utility>

// The forms of arguments that `anyOf` and `oneOf` distinguish.
namespace chasqui {

namespace {

constexpr size_t kMaxForms = 16;

// `{"anyOf": [{"required": ["a"]}]}` is a condition on the members of one form.
bool distinguishes(const common_json& schema, const char* keyword) {
    return schema.contains(keyword) && schema.at(keyword).is_array() &&
           !is_about_presence(common_json{{keyword, schema.at(keyword)}});
}

bool are_equal(const common_json& one, const common_json& other) {
    if (one.is_number() && other.is_number()) return one.get<double>() == other.get<double>();
    return one.dump() == other.dump();
}

}  // namespace

// Each combination of alternatives, as parts that apply together. nullopt: too many.
std::optional<std::vector<ArgumentSchema::Choice>> ArgumentSchema::choices_of(const common_json& given, int depth) const {
    const common_json& schema = resolve(given);
    if (!schema.is_object() || depth > kMaxDepth) return std::vector<Choice>{{{schema}, {}, false}};
    common_json rest = schema;
    for (const char* keyword : {"anyOf", "oneOf"}) {
        if (distinguishes(schema, keyword)) rest.erase(keyword);
    }
    if (schema.contains("allOf")) rest.erase("allOf");
    std::vector<Choice> all = {{{rest}, {}, false}};
    const auto          multiply = [&](const std::vector<Choice>& more) {
        std::vector<Choice> products;
        for (const Choice& one : all) {
            for (const Choice& other : more) {
                products.push_back(one);
                products.back().parts.insert(products.back().parts.end(), other.parts.begin(), other.parts.end());
                products.back().excluded.insert(products.back().excluded.end(), other.excluded.begin(), other.excluded.end());
                products.back().is_chosen |= other.is_chosen;
            }
        }
        all = std::move(products);
        return all.size() <= kMaxForms;
    };
    for (const char* keyword : {"anyOf", "oneOf"}) {
        if (!distinguishes(schema, keyword)) continue;
        std::vector<Choice> choices;
        const common_json&  list = schema.at(keyword);
        for (size_t i = 0; i < list.size(); ++i) {
            if (other_types(list.at(i)).count("object") == 0) continue;
            auto those = choices_of(list.at(i), depth + 1);
            if (!those) return std::nullopt;
            for (Choice& one : *those) {
                for (size_t j = 0; keyword[0] == 'o' && j < list.size(); ++j) {
                    if (j != i) one.excluded.push_back(list.at(j));
                }
                one.is_chosen = true;
                choices.push_back(std::move(one));
            }
        }
        if (!multiply(choices)) return std::nullopt;
    }
    if (schema.contains("allOf")) {
        for (const common_json* part : parts_of(schema.at("allOf"))) {
            const auto those = choices_of(*part, depth + 1);
            if (!those || !multiply(*those)) return std::nullopt;
        }
    }
    return all;
}

std::vector<ArgumentSchema::Alternative> ArgumentSchema::forms() const {
    const auto               choices = choices_of(root_, 0);
    std::vector<Alternative> all;
    if (!choices || (choices->size() == 1 && !choices->at(0).is_chosen)) {
        all.push_back({root_, read(root_, true, {})});
    } else {
        for (const Choice& choice : *choices) {
            common_json whole = choice.parts[0];
            if (choice.parts.size() > 1) whole["allOf"] = common_json::array();
            for (size_t i = 1; i < choice.parts.size(); ++i) whole["allOf"].push_back(choice.parts[i]);
            all.push_back({whole, read(whole, true, choice.excluded)});
        }
    }
    all.erase(std::remove_if(all.begin(), all.end(), [](const auto& form) { return !form.properties.is_possible; }), all.end());

    // A text may be a number in one form and a string in another one.
    std::map<std::string, common_json> anywhere;
    for (const Alternative& form : all) {
        for (const Property& each : form.properties.list) {
            anywhere.emplace(each.name, common_json::array()).first->second.push_back(each.schema);
        }
    }
    for (Alternative& form : all) {
        for (Property& each : form.properties.list) {
            const common_json& schemas = anywhere.at(each.name);
            const std::string  own     = each.schema.dump();
            for (size_t i = 0; i < schemas.size(); ++i) {
                if (schemas.at(i).dump() != own) each.anywhere = common_json{{"anyOf", schemas}};
            }
        }
    }
    return all;
}

// The members do not fulfill `other`: one that it requires is missing, or one has a value that it does not permit.
void ArgumentSchema::exclude(const Condition& other, Properties& all) const {
    if (other_types(other.schema).count("object") == 0) return;
    const auto choices = choices_of(other.schema, 0);
    const auto never   = common_json{{"not", common_json::object()}};
    if (!choices) all.conditions.push_back({other.name, never});
    if (!choices) return;
    for (const Choice& choice : *choices) {
        const std::set<std::string> reported = ignored_;
        common_json                 whole    = common_json::object();
        whole["allOf"]                       = common_json::array();
        for (const common_json& part : choice.parts) whole["allOf"].push_back(part);
        Properties theirs;
        merge(whole, theirs, 0);
        settle(theirs);
        ignored_ = reported;

        bool        is_excluded = !theirs.is_possible;
        common_json ways = common_json::array(), required = common_json::array();
        for (const Property& each : theirs.list) {
            const auto found = all.indexes.find(each.name);
            if (each.is_required) required.push_back(each.name);
            if (found == all.indexes.end()) {
                is_excluded = is_excluded || each.is_required;
                continue;
            }
            const Property& own = all.list[found->second];
            if (!are_disjoint(own.schema, each.schema)) continue;
            is_excluded = is_excluded || own.is_required;
            ways.push_back(common_json{{"required", common_json::array({each.name})}});
        }
        for (const std::string& name : theirs.never) {
            const auto found = all.indexes.find(name);
            if (found == all.indexes.end()) continue;
            is_excluded = is_excluded || all.list[found->second].is_required;
            ways.push_back(common_json{{"required", common_json::array({name})}});
        }
        if (is_excluded) continue;
        ways.push_back(common_json{{"not", common_json{{"required", required}}}});
        all.conditions.push_back({other.name, common_json{{"anyOf", ways}}});
    }
}

bool ArgumentSchema::are_disjoint(const common_json& one, const common_json& other) const {
    if (!schema::combine(texts(one), texts(other), schema::Combine::both, budget_).is_empty()) return false;
    const std::set<std::string> types = other_types(one);
    for (const std::string& type : other_types(other)) {
        const bool is_common = types.count(type) > 0 || (type == "integer" && types.count("number") > 0) ||
                               (type == "number" && types.count("integer") > 0);
        if (!is_common) continue;
        const auto values = values_of(one, 0), others = values_of(other, 0);
        if (!values || !others) return false;
        for (const common_json& value : *values) {
            for (const common_json& each : *others) {
                if (are_equal(value, each)) return false;
            }
        }
        return true;
    }
    return true;
}

// The values that a schema lists; nullopt: it lists none.
std::optional<std::vector<common_json>> ArgumentSchema::values_of(const common_json& given, int depth) const {
    const common_json& schema = resolve(given);
    if (!schema.is_object() || depth > kMaxDepth) return std::nullopt;
    if (schema.contains("const")) return std::vector<common_json>{schema.at("const")};
    const char* list = schema.contains("enum") ? "enum" : "allOf";
    if (!schema.contains(list)) return std::nullopt;
    std::vector<common_json> values;
    for (size_t i = 0; i < schema.at(list).size(); ++i) {
        if (list[0] == 'e') values.push_back(schema.at(list).at(i));
        if (list[0] == 'e') continue;
        if (auto those = values_of(schema.at(list).at(i), depth + 1)) return those;
    }
    if (list[0] == 'a') return std::nullopt;
    return values;
}

}  // namespace chasqui
