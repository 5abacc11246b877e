#include "value-rules.h"

#include <algorithm>
#include <cstdio>

namespace chasqui::schema {

namespace {

const char* name_of_type(Type type) {
    static constexpr const char* kNames[] = {"null", "boolean", "number", "string", "array", "object"};
    return kNames[static_cast<size_t>(type)];
}

std::string joined(const std::vector<std::string>& ways) {
    std::string text;
    for (const std::string& way : ways) text += (text.empty() ? "" : " | ") + way;
    return text;
}

std::string repeated(const std::string& rule, size_t min, size_t max) {
    if (max == kUnlimited) return rule + (min == 0 ? "*" : "{" + std::to_string(min) + ",}");
    return rule + "{" + std::to_string(min) + "," + std::to_string(max) + "}";
}

constexpr size_t  kMaxCompared = 32;  // items of a tuple
const std::string kComma       = "\",\" space ";

// Equal values have equal texts: 1 and 1.0 are equal, and the order of members does not matter.
std::string canonical(const common_json& value) {
    if (value.is_number()) {
        char text[32];
        std::snprintf(text, sizeof(text), "%.17g", value.get<double>());
        return text;
    }
    std::string all;
    if (value.is_array()) {
        for (const common_json& item : value) all += canonical(item) + ",";
        return "[" + all + "]";
    }
    if (!value.is_object()) return value.dump();
    std::map<std::string, std::string> members;
    for (const auto& [name, member] : value.items()) members.emplace(common_json::make(name).dump(), canonical(member));
    for (const auto& [name, member] : members) all += name + ":" + member + ",";
    return "{" + all + "}";
}

}  // namespace

std::string ValueRules::rule_of(NodeId node, const std::string& hint, unsigned types) {
    std::string name = types == kAllTypes ? name_of(node, hint) : rules_.add(hint, body_of(node, hint, types));
    while (!todo_.empty()) {
        const auto [next, next_hint] = todo_.back();
        todo_.pop_back();
        rules_.set(names_.at(next), body_of(next, next_hint, kAllTypes));
    }
    return name;
}

std::string ValueRules::name_of(NodeId node, const std::string& hint) {
    if (node == kAnything) return rules_.primitive("value");
    const auto found = names_.find(node);
    if (found != names_.end()) return found->second;
    std::string  name;
    const Shape& shape = schemas_.shape_of(node);
    if (shape.size() == 1 && is_unlimited(shape[0])) {
        name = rules_.primitive(name_of_type(shape[0].type));
    } else {
        name = rules_.reserve(hint);
        todo_.emplace_back(node, hint);
    }
    names_.emplace(node, name);
    return name;
}

std::string ValueRules::body_of(NodeId node, const std::string& hint, unsigned types) {
    std::vector<std::string> constants, ways;
    size_t                   n_unlimited = 0;
    for (const Case* chosen : schemas_.likely_cases(node)) {
        const Case& each = *chosen;
        if ((types & bit(each.type)) == 0) continue;
        if (each.literal != nullptr) {
            constants.push_back(each.literal->dump());
            continue;
        }
        std::string way;
        if (is_unlimited(each)) {
            ++n_unlimited;
            way = rules_.primitive(name_of_type(each.type));
        } else {
            switch (each.type) {
                case Type::boolean: way = each.no_true ? "\"false\"" : "\"true\""; break;
                case Type::number: way = number(each); break;
                case Type::string: way = string(each); break;
                case Type::array: way = array(each, hint); break;
                default: way = object(each, hint); break;
            }
        }
        if (!way.empty() && std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
    }
    if (n_unlimited == kTypes && ways.size() == kTypes) return rules_.primitive("value");
    if (!constants.empty()) ways.push_back(rules_.one_of(std::move(constants)));
    // A node that contains itself and nothing else: no text.
    return ways.empty() ? "[\\x00]" : joined(ways);
}

std::string ValueRules::number(const Case& each) {
    const NumberLimits& limits = each.number;
    if (const std::optional<Automaton> language = schemas_.language_of(each)) return rules_.plain_text(*language);
    if (!limits.has_bounds()) return rules_.primitive(limits.integer ? "integer" : "number");
    return rules_.plain_text(*numbers(limits));
}

std::string ValueRules::string(const Case& each) {
    const StringLimits& limits = each.string;
    if (limits.accepted.empty() && limits.rejected.empty()) {
        return "\"\\\"\" " + repeated(rules_.primitive("char"), limits.min, limits.max) + " \"\\\"\"";
    }
    if (const std::optional<Automaton> language = schemas_.language_of(each)) {
        return rules_.add("text", rules_.json_string(*language, false));
    }
    return rules_.json_string(*whole_match(limits.accepted[0]->regex));
}

std::optional<std::vector<common_json>> ValueRules::constants_of(NodeId node) {
    std::vector<common_json>        values;
    std::unordered_set<std::string> known;
    const auto                      add = [&](const common_json& value) {
        if (known.insert(canonical(value)).second) values.push_back(value);
    };
    for (const Case& each : schemas_.shape_of(node)) {
        if (each.literal != nullptr) {
            add(*each.literal);
        } else if (each.type == Type::null) {
            add(common_json());
        } else if (each.type == Type::boolean) {
            if (!each.no_true) add(common_json::make(true));
            if (!each.no_false) add(common_json::make(false));
        } else if (schemas_.is_possible(each)) {
            return std::nullopt;
        }
    }
    return values;
}

std::string ValueRules::set_of_constants(const std::vector<common_json>& values, size_t min, size_t max) {
    Members members;
    for (const common_json& value : values) members.optional.push_back(literal(value.dump()));
    members.min = min;
    members.max = max;
    const std::string list = list_of(members);
    return list == "-" ? "" : "\"[\" space " + list + " space \"]\"";
}

// The array if its items are always different, or all arrays of different items if they are few. Else null.
std::optional<std::string> ValueRules::different_items(const ItemPlan& plan) {
    constexpr size_t kMaxArrays = 1000;
    const auto& [prefix, rest, min, max] = plan;
    if (prefix.empty()) {
        const auto values = constants_of(rest);
        return values ? std::optional(set_of_constants(*values, min, max)) : std::nullopt;
    }
    if (prefix.size() > kMaxCompared) return std::nullopt;
    std::vector<std::vector<common_json>> values;
    for (size_t i = 0; i <= prefix.size(); ++i) {
        if (i == prefix.size() && max == i) break;
        auto constants = constants_of(i < prefix.size() ? prefix[i] : rest);
        if (!constants) return std::nullopt;
        values.push_back(*std::move(constants));
    }
    std::vector<std::vector<common_json>> arrays = {{}};
    std::vector<std::string>              texts;
    for (size_t i = 0; i < arrays.size(); ++i) {
        if (arrays.size() > kMaxArrays) return std::nullopt;
        const std::vector<common_json> items = arrays[i];
        std::string                    text  = "\"[\" space ";
        for (size_t k = 0; k < items.size(); ++k) text += (k > 0 ? kComma : "") + literal(items[k].dump()) + " ";
        if (items.size() >= min) texts.push_back(text + "space \"]\"");
        if (items.size() == max) continue;
        for (const common_json& next : values[std::min(items.size(), values.size() - 1)]) {
            if (std::find(items.begin(), items.end(), next) != items.end()) continue;
            arrays.push_back(items);
            arrays.back().push_back(next);
        }
    }
    return joined(texts);
}

std::string ValueRules::array(const Case& each, const std::string& hint) {
    const std::optional<ItemPlan> plan = schemas_.plan_of(each.array);
    if (!plan) return "";
    const auto& [prefix, rest, min, max] = *plan;
    if (!each.array.unique.empty() && max > 1) {
        bool are_disjoint = prefix.size() == max && max <= kMaxCompared;
        for (size_t i = 0; are_disjoint && i < max; ++i) {
            for (size_t k = 0; are_disjoint && k < i; ++k) are_disjoint = schemas_.is_empty(schemas_.both(prefix[i], prefix[k]));
        }
        if (!are_disjoint) {
            if (std::optional<std::string> ways = different_items(*plan)) return *std::move(ways);
            schemas_.report(each.array.unique);
        }
    }
    // Backwards, so that each rule holds an item and the items after it.
    std::string follows;
    if (max > prefix.size()) {
        const std::string item  = name_of(rest, hint + "-item");
        const size_t      least = min > prefix.size() ? min - prefix.size() : 0;
        const size_t      most  = max == kUnlimited ? kUnlimited : max - prefix.size();
        if (prefix.empty()) {
            const std::string more = repeated("(" + kComma + item + ")", least > 0 ? least - 1 : 0, most == kUnlimited ? most : most - 1);
            follows                = least > 0 ? item + " " + more : "(" + item + " " + more + ")?";
        } else {
            follows = repeated("(" + kComma + item + ")", least, most);
        }
    }
    for (size_t i = prefix.size(); i-- > 0;) {
        const std::string item = (i > 0 ? kComma : "") + name_of(prefix[i], hint + "-" + std::to_string(i)) + (follows.empty() ? "" : " " + follows);
        follows                = i < min ? item : "(" + item + ")?";
        if (i > 0 && i % 8 == 0) follows = rules_.add("items", follows);
    }
    return "\"[\" space " + follows + (follows.empty() ? "" : " ") + "space \"]\"";
}

}  // namespace chasqui::schema
