// The keywords about values of one type.
#include "schemas.h"

#include <cmath>

namespace chasqui::schema {

namespace {

constexpr double kMaxCount = 2000;  // repetitions in a grammar

const std::map<std::string, unsigned>& implied_types() {
    static const std::map<std::string, unsigned> types = [] {
        std::map<std::string, unsigned> result;
        const auto add = [&](Type type, std::initializer_list<const char*> keywords) {
            for (const char* keyword : keywords) result[keyword] = bit(type);
        };
        add(Type::number, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"});
        add(Type::string, {"minLength", "maxLength", "pattern", "format"});
        add(Type::array, {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains",
                          "minContains", "maxContains", "unevaluatedItems"});
        add(Type::object, {"properties", "patternProperties", "additionalProperties", "propertyNames", "required",
                           "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies",
                           "unevaluatedProperties"});
        return result;
    }();
    return types;
}

const std::unordered_set<std::string>& combining_keywords() {
    static const std::unordered_set<std::string> keywords = {"type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef", "allOf",
                                                             "anyOf", "oneOf", "not", "if", "then", "else"};
    return keywords;
}

}  // namespace

bool is_assertion(const std::string& keyword) {
    static const std::unordered_set<std::string> describing = {
        "$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions",
        "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"};
    return describing.count(keyword) == 0;
}

const Schemas::Keywords& Schemas::keywords_of(int location) {
    enum class Kind { count, number, string, boolean, object, array };
    static const std::map<std::string, Kind> kinds = [] {
        std::map<std::string, Kind> result;
        const auto add = [&](Kind kind, std::initializer_list<const char*> keywords) {
            for (const char* keyword : keywords) result[keyword] = kind;
        };
        add(Kind::count, {"minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"});
        add(Kind::number, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"});
        add(Kind::string, {"pattern", "format", "$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor"});
        add(Kind::boolean, {"uniqueItems"});
        add(Kind::object, {"properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies", "$defs", "definitions"});
        add(Kind::array, {"allOf", "anyOf", "oneOf", "prefixItems", "enum"});
        return result;
    }();
    Location& read = locations_[location];
    if (read.is_read) return read.keywords;
    if (!read.schema->is_object()) fail(location, "schema must be an object");
    for (const auto& [name, value] : read.schema->items()) {
        read.keywords.emplace(name, &value);
        const auto kind = kinds.find(name);
        if (kind == kinds.end()) continue;
        const auto check = [&, &keyword = name](bool is_right, const char* expected) {
            if (!is_right) fail(location, keyword + " must be " + expected);
        };
        switch (kind->second) {
            case Kind::count: {
                const double number = value.is_number() ? value.get<double>() : -1;
                check(number >= 0 && number == std::floor(number), "a non-negative integer");
                break;
            }
            case Kind::number: check(value.is_number(), "a number"); break;
            case Kind::string: check(value.is_string(), "a string"); break;
            case Kind::boolean: check(value.is_boolean(), "a boolean"); break;
            case Kind::object: check(value.is_object(), "an object"); break;
            case Kind::array: check(value.is_array(), "an array"); break;
        }
    }
    read.is_read = true;
    return read.keywords;
}

unsigned Schemas::types_of(int location, bool& integer) {
    static const std::map<std::string, Type> types = {{"null", Type::null}, {"boolean", Type::boolean}, {"number", Type::number},
                                                      {"integer", Type::number}, {"string", Type::string}, {"array", Type::array},
                                                      {"object", Type::object}};
    const auto found = keywords_of(location).find("type");
    if (found == keywords_of(location).end()) return kAllTypes;
    const common_json& value = *found->second;
    unsigned           mask  = 0;
    bool               any_number = false;
    const auto         add   = [&](const common_json& name) {
        if (!name.is_string()) fail(location, "type must be a string or an array of strings");
        const std::string text = name.get<std::string>();
        const auto        type = types.find(text);
        if (type == types.end()) fail(location, "unrecognized type " + text.substr(0, 40));
        mask |= bit(type->second);
        any_number = any_number || text == "number";
        integer    = integer || text == "integer";
    };
    if (value.is_array()) {
        if (value.empty()) fail(location, "type must not be empty");
        if (value.size() > kTypes + 1) fail(location, "type has more than the 7 types that there are");
        for (const common_json& name : value) add(name);
    } else {
        add(value);
    }
    integer = integer && !any_number;
    return mask;
}

unsigned Schemas::implied_by(int location) {
    unsigned implied = 0;
    for (const auto& [keyword, value] : keywords_of(location)) {
        const auto found = implied_types().find(keyword);
        if (found != implied_types().end()) {
            implied |= found->second;
        } else if (is_assertion(keyword) && combining_keywords().count(keyword) == 0) {
            ignore(location, keyword);
        }
    }
    return implied;
}

std::optional<size_t> Schemas::count(int location, const std::string& keyword) {
    const auto found = keywords_of(location).find(keyword);
    if (found == keywords_of(location).end()) return std::nullopt;
    const double value = found->second->get<double>();
    if (value <= kMaxCount) return static_cast<size_t>(value);
    ignore(location, keyword);
    return std::nullopt;
}

std::optional<double> Schemas::bound(int location, const std::string& keyword) {
    const auto found = keywords_of(location).find(keyword);
    if (found == keywords_of(location).end()) return std::nullopt;
    return found->second->get<double>();
}

void Schemas::check_order(int location, const std::string& least, const std::string& most) {
    const std::optional<size_t> min = count(location, least), max = count(location, most);
    if (min && max && *max < *min) fail(location, most + " is less than " + least);
}

PatternPtr Schemas::pattern(int location, const std::string& keyword, const std::string& source) {
    const std::string place = locations_[location].place + "." + keyword;
    PatternPtr&       known = patterns_[source];
    if (known == nullptr) {
        known = std::make_shared<Pattern>();
        try {
            known->regex = parse_pattern(source);
        } catch (const InvalidPattern& error) {
            fail(location, keyword + " is no regular expression: " + error.what());
        } catch (const UnsupportedPattern&) {
        }
    }
    known->places.push_back(place);
    if (known->regex != nullptr) return known;
    report(place);
    return nullptr;
}

void Schemas::read_number(int location, Case& each) {
    constexpr double kMaxDigits = 1e15;
    NumberLimits&    limits      = each.number;
    const auto       take        = [&](const char* keyword, bool is_least, bool exclusive) {
        const std::optional<double> value = bound(location, keyword);
        if (!value) return;
        const bool beyond = std::abs(*value) >= kMaxDigits;
        // Bounded numbers have at most 15 digits: these bounds hold for all of them.
        const bool vacuous = beyond && (*value < 0) == is_least;
        if (limits.integer && beyond && !vacuous) fail(location, "its bounds leave no integer of 15 digits");
        if ((beyond && !vacuous) || (!limits.integer && !beyond && !decimal_of(*value))) return ignore(location, keyword);
        const double kept = vacuous ? std::copysign(kMaxDigits - 1, *value) : *value;
        is_least ? limits.raise(kept, exclusive && !vacuous) : limits.lower(kept, exclusive && !vacuous);
    };
    take("minimum", true, false);
    take("exclusiveMinimum", true, true);
    take("maximum", false, false);
    take("exclusiveMaximum", false, true);
    if (limits.is_empty() || !is_possible(each)) {
        fail(location, limits.integer ? "maximum is less than minimum" : "its bounds leave no number");
    }
    if (const std::optional<double> multiple = bound(location, "multipleOf")) {
        if (*multiple <= 0) fail(location, "multipleOf must be greater than 0");
        const auto fraction = fraction_of(*multiple);
        if (!fraction) return ignore(location, "multipleOf");
        limits.multiples = {*multiple};
        each.multiple    = locations_[location].place + ".multipleOf";
    }
}

void Schemas::read_string(int location, Case& each) {
    StringLimits& limits = each.string;
    check_order(location, "minLength", "maxLength");
    limits.min = count(location, "minLength").value_or(0);
    limits.max = count(location, "maxLength").value_or(kUnlimited);
    const Keywords& keywords = keywords_of(location);
    if (const auto found = keywords.find("pattern"); found != keywords.end()) {
        if (PatternPtr made = pattern(location, "pattern", found->second->get<std::string>())) limits.accepted.push_back(made);
    }
    if (const auto found = keywords.find("format"); found != keywords.end()) {
        const std::string name   = found->second->get<std::string>();
        const RegexPtr    format = format_of(name);
        if (format == nullptr) return ignore(location, "format");
        PatternPtr& made = patterns_["format " + name];
        if (made == nullptr) {
            made        = std::make_shared<Pattern>();
            made->regex = format;
        }
        made->places.push_back(locations_[location].place + ".format");
        limits.accepted.push_back(made);
    }
}

void Schemas::read_array(int location, Case& each) {
    const Keywords& keywords = keywords_of(location);
    ArrayLimits&    limits   = each.array;
    auto            layer    = std::make_shared<ItemLayer>();
    std::string     prefix   = "prefixItems", rest = "items";
    // Before draft 2020-12 a list of `items` was what `prefixItems` is now.
    if (const auto items = keywords.find("items"); items != keywords.end() && items->second->is_array()) {
        prefix = "items";
        rest   = "additionalItems";
    }
    if (const auto found = keywords.find(prefix); found != keywords.end()) {
        for (size_t i = 0; i < found->second->size(); ++i) layer->prefix.push_back(node_of(child(location, prefix, i)));
    }
    if (keywords.count(rest) > 0) {
        layer->rest     = node_of(child(location, rest));
        layer->has_rest = true;
    }
    limits.layers = {layer};
    check_order(location, "minItems", "maxItems");
    const std::optional<size_t> min = count(location, "minItems");
    limits.has_min = min.has_value();
    limits.min     = min.value_or(0);
    limits.max     = count(location, "maxItems").value_or(kUnlimited);
    if (const auto found = keywords.find("uniqueItems"); found != keywords.end() && *found->second == true) {
        limits.unique = locations_[location].place + ".uniqueItems";
    }
    if (keywords.count("contains") == 0) return;
    const int contained = child(location, "contains");
    limits.contained.push_back({node_of(contained), opposite_of(contained), count(location, "minContains").value_or(1),
                                count(location, "maxContains").value_or(kUnlimited), true});
}

void Schemas::read_object(int location, Case& each) {
    const Keywords& keywords = keywords_of(location);
    ObjectLimits&   limits   = each.object;
    auto            layer    = std::make_shared<NameLayer>();
    const auto      members  = [&](const char* keyword, const auto& take) {
        const auto found = keywords.find(keyword);
        if (found == keywords.end()) return;
        for (const auto& [name, value] : found->second->items()) take(name, node_of(child(location, keyword, name, value)));
    };
    members("properties", [&](const std::string& name, NodeId node) { layer->add(name, node); });
    members("patternProperties", [&](const std::string& name, NodeId node) {
        if (PatternPtr made = pattern(location, "patternProperties." + name.substr(0, 80), name)) layer->patterns.emplace_back(made, node);
    });
    if (const auto found = keywords.find("additionalProperties"); found != keywords.end()) {
        if (!found->second->is_boolean() && !found->second->is_object()) {
            fail(location, "additionalProperties must be a boolean or a schema");
        }
        layer->additional     = node_of(child(location, "additionalProperties"));
        layer->has_additional = true;
    }
    layer->has_properties = keywords.count("properties") > 0;
    if (layer->has_properties || !layer->patterns.empty() || layer->has_additional) limits.layers = {layer};
    if (const auto found = keywords.find("required"); found != keywords.end()) {
        std::unordered_set<std::string> known;
        if (!found->second->is_array()) ignore(location, "required");
        for (size_t i = 0; found->second->is_array() && i < found->second->size(); ++i) {
            const common_json& name = found->second->at(i);
            if (!name.is_string()) {
                ignore(location, "required");
            } else if (known.insert(name.get<std::string>()).second) {
                limits.required.push_back(name.get<std::string>());
            }
        }
    }
    if (keywords.count("propertyNames") > 0) {
        const NodeId names = node_of(child(location, "propertyNames"));
        if (names != kAnything) limits.names.push_back(names);
    }
    check_order(location, "minProperties", "maxProperties");
    limits.min = count(location, "minProperties").value_or(0);
    limits.max = count(location, "maxProperties").value_or(kUnlimited);
    if (limits.min > 0) limits.counted = locations_[location].place + ".minProperties";
}

}  // namespace chasqui::schema
