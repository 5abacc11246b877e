#include "presence.h"

namespace chasqui {

namespace {

constexpr int kMaxNesting = 32;

bool is_list_of_names(const common_json& names) {
    for (size_t i = 0; names.is_array() && i < names.size(); ++i) {
        if (!names.at(i).is_string()) return false;
    }
    return names.is_array();
}

bool is_empty(const common_json& schema) {
    return schema.is_boolean() ? schema.get<bool>() : schema.is_object() && schema.size() == 0;
}

bool is_known(const std::string& keyword, const common_json& value, int depth) {
    if (keyword == "title" || keyword == "description" || keyword == "$comment") return true;
    if (keyword == "type") return value.is_string() && value.get<std::string>() == "object";
    if (keyword == "required") return is_list_of_names(value);
    if (keyword == "minProperties" || keyword == "maxProperties") return value.is_number();
    if (keyword == "properties" || keyword == "dependentRequired") {
        if (!value.is_object()) return false;
        for (const auto& [name, each] : value.items()) {
            if (keyword == "properties" ? !is_empty(each) : !is_list_of_names(each)) return false;
        }
        return true;
    }
    if (keyword == "anyOf" || keyword == "oneOf" || keyword == "allOf") {
        for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
            if (!is_about_presence(value.at(i), depth + 1)) return false;
        }
        return value.is_array();
    }
    const bool is_schema = keyword == "not" || keyword == "if" || keyword == "then" || keyword == "else";
    return is_schema && is_about_presence(value, depth + 1);
}

bool has_all(const common_json& names, const std::set<std::string>& members) {
    for (size_t i = 0; i < names.size(); ++i) {
        if (members.count(names.at(i).get<std::string>()) == 0) return false;
    }
    return true;
}

size_t count_permitted(const common_json& schemas, const std::set<std::string>& members) {
    size_t n = 0;
    for (size_t i = 0; i < schemas.size(); ++i) n += permits_members(schemas.at(i), members) ? 1 : 0;
    return n;
}

}  // namespace

bool is_about_presence(const common_json& schema, int depth) {
    if (schema.is_boolean()) return true;
    if (!schema.is_object() || depth > kMaxNesting) return false;
    for (const auto& [keyword, value] : schema.items()) {
        if (!is_known(keyword, value, depth)) return false;
    }
    return true;
}

bool permits_members(const common_json& schema, const std::set<std::string>& members) {
    if (schema.is_boolean()) return schema.get<bool>();
    const auto has    = [&](const char* keyword) { return schema.contains(keyword); };
    const auto passes = [&](const char* keyword) { return !has(keyword) || permits_members(schema.at(keyword), members); };
    const auto count  = static_cast<double>(members.size());
    if (has("required") && !has_all(schema.at("required"), members)) return false;
    if (has("minProperties") && count < schema.at("minProperties").get<double>()) return false;
    if (has("maxProperties") && count > schema.at("maxProperties").get<double>()) return false;
    if (has("allOf") && count_permitted(schema.at("allOf"), members) < schema.at("allOf").size()) return false;
    if (has("anyOf") && count_permitted(schema.at("anyOf"), members) == 0) return false;
    if (has("oneOf") && count_permitted(schema.at("oneOf"), members) != 1) return false;
    if (has("not") && passes("not")) return false;
    if (has("if") && !passes(passes("if") ? "then" : "else")) return false;
    if (!has("dependentRequired")) return true;
    for (const auto& [name, names] : schema.at("dependentRequired").items()) {
        if (members.count(name) > 0 && !has_all(names, members)) return false;
    }
    return true;
}

}  // namespace chasqui
