// Conjunctions of cases, and whether a value or anything at all is within one.
#include "schemas.h"

#include <algorithm>
#include <cmath>

namespace chasqui::schema {

namespace {

constexpr size_t kMaxAlternatives = 512;  // of one node that are no constants
constexpr size_t kMaxProduct      = 1'000'000;
constexpr unsigned kMaxDepth      = 48;

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

void meet_numbers(Case& into, const Case& other) {
    NumberLimits& limits = into.number;
    limits.raise(other.number.least, other.number.over);
    limits.lower(other.number.most, other.number.under);
    limits.integer = limits.integer || other.number.integer;
    append(limits.multiples, other.number.multiples);
    append(limits.no_multiples, other.number.no_multiples);
    if (into.multiple.empty()) into.multiple = other.multiple;
}

void meet_strings(StringLimits& into, const StringLimits& other) {
    into.min = std::max(into.min, other.min);
    into.max = std::min(into.max, other.max);
    append(into.accepted, other.accepted);
    append(into.rejected, other.rejected);
}

void meet_arrays(ArrayLimits& into, const ArrayLimits& other) {
    append(into.layers, other.layers);
    append(into.contained, other.contained);
    into.min     = std::max(into.min, other.min);
    into.max     = std::min(into.max, other.max);
    into.has_min = into.has_min || other.has_min;
    if (into.unique.empty()) into.unique = other.unique;
}

void meet_objects(ObjectLimits& into, const ObjectLimits& other) {
    append(into.layers, other.layers);
    append(into.names, other.names);
    if (!other.required.empty()) {
        const std::unordered_set<std::string> known(into.required.begin(), into.required.end());
        for (const std::string& name : other.required) {
            if (known.count(name) == 0) into.required.push_back(name);
        }
    }
    into.min = std::max(into.min, other.min);
    into.max = std::min(into.max, other.max);
    if (into.counted.empty()) into.counted = other.counted;
}

}  // namespace

Type type_of(const common_json& value) {
    if (value.is_null()) return Type::null;
    if (value.is_boolean()) return Type::boolean;
    if (value.is_number()) return Type::number;
    if (value.is_string()) return Type::string;
    return value.is_array() ? Type::array : Type::object;
}

bool is_unlimited(const Case& each) {
    if (each.literal != nullptr) return false;
    switch (each.type) {
        case Type::null: return true;
        case Type::boolean: return !each.no_true && !each.no_false;
        case Type::number:
            return !each.number.integer && !each.number.has_bounds() && each.number.multiples.empty() && each.number.no_multiples.empty();
        case Type::string: {
            const StringLimits& limits = each.string;
            return limits.min == 0 && limits.max == kUnlimited && limits.accepted.empty() && limits.rejected.empty();
        }
        case Type::array: {
            const ArrayLimits& limits = each.array;
            const bool         any    = std::all_of(limits.layers.begin(), limits.layers.end(), [](const auto& layer) {
                return layer->prefix.empty() && layer->rest == kAnything;
            });
            return any && limits.contained.empty() && limits.min == 0 && limits.max == kUnlimited && limits.unique.empty();
        }
        case Type::object: {
            const ObjectLimits& limits = each.object;
            const bool          any    = std::all_of(limits.layers.begin(), limits.layers.end(), [](const auto& layer) {
                const bool has_names = layer->has_properties && !layer->has_additional;
                return !has_names && layer->properties.empty() && layer->patterns.empty() && layer->additional == kAnything;
            });
            return any && limits.required.empty() && limits.names.empty() && limits.min == 0 && limits.max == kUnlimited;
        }
    }
    return false;
}

Case case_of(Type type) {
    Case result;
    result.type = type;
    return result;
}

Shape any_value() {
    Shape shape(kTypes);
    for (size_t i = 0; i < kTypes; ++i) shape[i].type = static_cast<Type>(i);
    return shape;
}

std::optional<Case> Schemas::meet(const Case& one, const Case& other) {
    if (one.type != other.type) return std::nullopt;
    if (one.literal != nullptr || other.literal != nullptr) {
        const Case& value = one.literal != nullptr ? one : other;
        if (!accepts(&value == &one ? other : one, *value.literal)) return std::nullopt;
        return value;
    }
    Case result     = one;
    result.has_type = one.has_type || other.has_type;
    result.implied |= other.implied;
    switch (one.type) {
        case Type::null: break;
        case Type::boolean:
            result.no_true  = one.no_true || other.no_true;
            result.no_false = one.no_false || other.no_false;
            if (result.no_true && result.no_false) return std::nullopt;
            break;
        case Type::number:
            meet_numbers(result, other);
            if (result.number.is_empty()) return std::nullopt;
            break;
        case Type::string:
            meet_strings(result.string, other.string);
            if (result.string.max < result.string.min) return std::nullopt;
            break;
        case Type::array:
            meet_arrays(result.array, other.array);
            if (result.array.max < result.array.min) return std::nullopt;
            break;
        case Type::object:
            meet_objects(result.object, other.object);
            if (result.object.max < std::max(result.object.min, result.object.required.size())) return std::nullopt;
            break;
    }
    return result;
}

Shape Schemas::product(const Shape& one, const Shape& other) {
    if (one.size() * other.size() > kMaxProduct) throw NotExpressible("too many alternatives");
    budget_.spend(one.size() * other.size());
    Shape  result;
    size_t n = 0;
    for (const Case& a : one) {
        for (const Case& b : other) {
            std::optional<Case> both = meet(a, b);
            if (!both) continue;
            if (both->literal == nullptr && ++n > kMaxAlternatives) throw NotExpressible("too many alternatives");
            result.push_back(*std::move(both));
        }
    }
    return result;
}

NodeId Schemas::property(const ObjectLimits& limits, const std::string& name) {
    NodeId node = kAnything;
    for (const auto& layer : limits.layers) {
        const auto found = layer->by_name.find(name);
        bool       known = found != layer->by_name.end();
        if (known) node = both(node, found->second);
        for (const auto& [pattern, value] : layer->patterns) {
            const Automaton* automaton = automaton_of(pattern);
            if (automaton == nullptr || !automaton->accepts(code_points_of(name))) continue;
            known = true;
            node  = both(node, value);
        }
        if (!known) node = both(node, layer->additional);
    }
    if (!limits.names.empty()) {
        const common_json text = common_json::make(name);
        for (const NodeId each : limits.names) {
            if (!allows(each, text)) return kNothing;
        }
    }
    return node;
}

bool Schemas::accepts(const Case& each, const common_json& value) {
    if (each.type != type_of(value)) return false;
    if (each.literal != nullptr) return *each.literal == value;
    switch (each.type) {
        case Type::null: return true;
        case Type::boolean: return value.get<bool>() ? !each.no_true : !each.no_false;
        case Type::number: return each.number.allows(value.get<double>());
        case Type::string: {
            const std::vector<uint32_t> text    = code_points_of(value.get<std::string>());
            const auto                  matches = [&](const PatternPtr& pattern, bool if_unknown) {
                const Automaton* automaton = automaton_of(pattern);
                return automaton == nullptr ? if_unknown : automaton->accepts(text);
            };
            const StringLimits& limits = each.string;
            return text.size() >= limits.min && text.size() <= limits.max &&
                   std::all_of(limits.accepted.begin(), limits.accepted.end(), [&](const auto& p) { return matches(p, true); }) &&
                   std::none_of(limits.rejected.begin(), limits.rejected.end(), [&](const auto& p) { return matches(p, false); });
        }
        case Type::array: {
            const ArrayLimits& limits = each.array;
            if (value.size() < limits.min || value.size() > limits.max) return false;
            for (const auto& layer : limits.layers) {
                for (size_t i = 0; i < value.size(); ++i) {
                    if (!allows(layer->at(i), value.at(i))) return false;
                }
            }
            for (const Contained& contained : limits.contained) {
                size_t n = 0;
                for (size_t i = 0; i < value.size(); ++i) n += allows(contained.node, value.at(i)) ? 1 : 0;
                if (n < contained.min || n > contained.max) return false;
            }
            for (size_t i = 0; !limits.unique.empty() && i < value.size(); ++i) {
                budget_.spend(value.size());
                for (size_t k = 0; k < i; ++k) {
                    if (value.at(i) == value.at(k)) return false;
                }
            }
            return true;
        }
        case Type::object: {
            const ObjectLimits& limits = each.object;
            if (value.size() < limits.min || value.size() > limits.max) return false;
            for (const std::string& name : limits.required) {
                if (!value.contains(name)) return false;
            }
            for (const auto& [name, member] : value.items()) {
                if (!allows(property(limits, name), member)) return false;
            }
            return true;
        }
    }
    return false;
}

bool Schemas::allows(NodeId node, const common_json& value) {
    if (node == kAnything || node == kNothing) return node == kAnything;
    for (const Case& each : shape_of(node)) {
        if (accepts(each, value)) return true;
    }
    return false;
}

bool Schemas::is_empty(NodeId node) {
    if (node == kAnything || node == kNothing) return node == kNothing;
    using Emptiness = Node::Emptiness;
    if (nodes_[node].emptiness == Emptiness::asked || depth_ > kMaxDepth) return false;
    if (nodes_[node].emptiness == Emptiness::unknown) {
        nodes_[node].emptiness = Emptiness::asked;
        ++depth_;
        const Shape& shape     = shape_of(node);
        const bool   possible  = std::any_of(shape.begin(), shape.end(), [&](const Case& each) { return is_possible(each); });
        --depth_;
        nodes_[node].emptiness = possible ? Emptiness::no : Emptiness::yes;
    }
    return nodes_[node].emptiness == Emptiness::yes;
}

bool Schemas::is_possible(const Case& each) {
    if (each.literal != nullptr) return true;
    switch (each.type) {
        case Type::null: return true;
        case Type::boolean: return !each.no_true || !each.no_false;
        case Type::number: {
            NumberLimits limits = each.number;
            if (limits.integer && limits.has_bounds()) {
                limits.least = std::ceil(limits.least) + (limits.over && limits.least == std::ceil(limits.least) ? 1 : 0);
                limits.most  = std::floor(limits.most) - (limits.under && limits.most == std::floor(limits.most) ? 1 : 0);
                limits.over = limits.under = false;
            }
            if (limits.is_empty()) return false;
            const std::optional<Automaton> language = language_of(each);
            return !language || !language->is_empty();
        }
        case Type::string: {
            if (each.string.max < each.string.min) return false;
            const std::optional<Automaton> language = language_of(each);
            return !language || !language->is_empty();
        }
        case Type::array: {
            const std::optional<ItemPlan> plan = plan_of(each.array);
            if (!plan) return false;
            for (size_t i = 0; i < std::min(plan->min, plan->prefix.size() + 1); ++i) {
                if (is_empty(i < plan->prefix.size() ? plan->prefix[i] : plan->rest)) return false;
            }
            return true;
        }
        case Type::object:
            return std::none_of(each.object.required.begin(), each.object.required.end(),
                                [&](const std::string& name) { return is_empty(property(each.object, name)); });
    }
    return true;
}

std::vector<const Case*> Schemas::likely_cases(NodeId node) {
    const auto is_likely = [](const Case& each) {
        return each.has_type || each.implied == 0 || (each.implied & bit(each.type)) != 0;
    };
    std::vector<const Case*> possible, likely;
    for (const Case& each : shape_of(node)) {
        if (!is_possible(each)) continue;
        possible.push_back(&each);
        if (is_likely(each)) likely.push_back(&each);
    }
    return likely.empty() ? possible : likely;
}

const Automaton* Schemas::automaton_of(const PatternPtr& pattern) {
    if (pattern->regex == nullptr) return nullptr;
    if (pattern->automaton == nullptr) {
        try {
            pattern->automaton = std::make_unique<Automaton>(schema::automaton_of(*pattern->regex, budget_));
        } catch (const UnsupportedPattern&) {
            for (const std::string& place : pattern->places) report(place);
            pattern->regex = nullptr;
        }
    }
    return pattern->automaton.get();
}

std::optional<Automaton> Schemas::language_of(const Case& each) {
    if (each.type == Type::number) return language_of(each.number, each.multiple);
    const StringLimits& limits = each.string;
    if (limits.accepted.empty() && limits.rejected.empty()) return std::nullopt;
    const bool is_one = limits.accepted.size() == 1 && limits.rejected.empty() && limits.min == 0 && limits.max == kUnlimited;
    if (is_one && limits.accepted[0]->automaton == nullptr && limits.accepted[0]->regex != nullptr &&
        whole_match(limits.accepted[0]->regex) != nullptr) {
        return std::nullopt;
    }
    Automaton  language = of_length(limits.min, limits.max);
    const auto restrict = [&](const std::vector<PatternPtr>& patterns, Combine how) {
        for (const PatternPtr& pattern : patterns) {
            const Automaton* automaton = automaton_of(pattern);
            if (automaton == nullptr) continue;
            try {
                language = combine(language, *automaton, how, budget_);
            } catch (const UnsupportedPattern&) {
                for (const std::string& place : pattern->places) report(place);
            }
        }
    };
    restrict(limits.accepted, Combine::both);
    restrict(limits.rejected, Combine::only_first);
    return language;
}

std::optional<Automaton> Schemas::language_of(const NumberLimits& limits, const std::string& place) {
    if (limits.multiples.empty() && limits.no_multiples.empty()) return std::nullopt;
    // Divisible as a decimal must mean divisible as a double.
    constexpr double kMaxNumber   = 999'999'999'999'999;
    NumberLimits     bounded = limits;
    bounded.raise(-kMaxNumber, false);
    bounded.lower(kMaxNumber, false);
    RegexPtr whole = sequence({parse_pattern("^"), numbers(bounded), parse_pattern("$")});
    try {
        Automaton  language = schema::automaton_of(*whole, budget_);
        const auto restrict = [&](const std::vector<double>& multiples, Combine how) {
            for (const double multiple : multiples) {
                const auto fraction = fraction_of(multiple);
                language            = combine(language, multiples_of(fraction->first, fraction->second), how, budget_);
            }
        };
        restrict(limits.multiples, Combine::both);
        restrict(limits.no_multiples, Combine::only_first);
        return language;
    } catch (const UnsupportedPattern&) {
        report(place);
        return std::nullopt;
    }
}

}  // namespace chasqui::schema
