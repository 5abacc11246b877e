// The violations of keywords about values of one type.
#include "schemas.h"

#include <algorithm>
#include <cmath>

namespace chasqui::schema {

namespace {

std::shared_ptr<const NameLayer> with_property(const std::string& name, NodeId node) {
    auto layer       = std::make_shared<NameLayer>();
    layer->evaluates = false;
    layer->add(name, node);
    return layer;
}

std::shared_ptr<const ItemLayer> with_item(size_t at, NodeId node) {
    auto layer       = std::make_shared<ItemLayer>();
    layer->evaluates = false;
    layer->prefix.assign(at, kAnything);
    layer->prefix.push_back(node);
    return layer;
}

}  // namespace

NodeId Schemas::constant(const common_json& value, bool negated) {
    common_json& schema = constants_.emplace_back(common_json::object());
    schema["const"]     = value;
    const int location  = locate(schema, "const", "", 0);
    return negated ? opposite_of(location) : node_of(location);
}

Shape Schemas::negative_keywords(int location, bool& incomplete) {
    const Keywords& keywords = keywords_of(location);
    bool            integer  = false;
    const unsigned  types    = types_of(location, integer);
    Shape           shape;
    for (Case each : any_value()) {
        if ((types & bit(each.type)) == 0) shape.push_back(std::move(each));
    }
    if (integer) {
        Case fractions                = case_of(Type::number);
        fractions.number.no_multiples = {1};
        shape.push_back(std::move(fractions));
    }
    const auto add_none_of = [&](const std::vector<const common_json*>& values) {
        const Shape others = none_of_values(values);
        shape.insert(shape.end(), others.begin(), others.end());
    };
    if (const auto found = keywords.find("const"); found != keywords.end()) add_none_of({found->second});
    if (const auto found = keywords.find("enum"); found != keywords.end() && found->second->is_array()) {
        std::vector<const common_json*> values;
        for (const common_json& value : *found->second) values.push_back(&value);
        add_none_of(values);
    }
    negative_numbers(location, shape);
    negative_strings(location, shape, incomplete);
    negative_arrays(location, shape, incomplete);
    negative_objects(location, shape, incomplete);
    for (const char* keyword : {"unevaluatedProperties", "unevaluatedItems", "$recursiveRef"}) {
        incomplete = incomplete || keywords.count(keyword) > 0;
    }
    return shape;
}

void Schemas::negative_numbers(int location, Shape& shape) {
    const auto add = [&](const char* keyword, const auto& violate) {
        const std::optional<double> value = bound(location, keyword);
        if (!value) return;
        Case each = case_of(Type::number);
        violate(each.number, *value);
        shape.push_back(std::move(each));
    };
    add("minimum", [](NumberLimits& limits, double value) { limits.lower(value, true); });
    add("exclusiveMinimum", [](NumberLimits& limits, double value) { limits.lower(value, false); });
    add("maximum", [](NumberLimits& limits, double value) { limits.raise(value, true); });
    add("exclusiveMaximum", [](NumberLimits& limits, double value) { limits.raise(value, false); });
    add("multipleOf", [](NumberLimits& limits, double value) {
        if (!fraction_of(value)) throw NotExpressible("its opposite");
        limits.no_multiples = {value};
    });
    for (const Case& each : shape) {
        const bool has_text = (!std::isfinite(each.number.least) || decimal_of(each.number.least)) &&
                              (!std::isfinite(each.number.most) || decimal_of(each.number.most));
        if (each.type == Type::number && !has_text) throw NotExpressible("its opposite");
    }
}

void Schemas::negative_strings(int location, Shape& shape, bool& incomplete) {
    const auto add = [&](const auto& violate) {
        Case each = case_of(Type::string);
        violate(each.string);
        shape.push_back(std::move(each));
    };
    if (const auto min = count(location, "minLength"); min.value_or(0) > 0) add([&](StringLimits& limits) { limits.max = *min - 1; });
    if (const auto max = count(location, "maxLength")) add([&](StringLimits& limits) { limits.min = *max + 1; });
    const Keywords& keywords = keywords_of(location);
    if (const auto found = keywords.find("pattern"); found != keywords.end() && found->second->is_string()) {
        const PatternPtr made = pattern(location, "pattern", found->second->get<std::string>());
        if (made == nullptr) throw NotExpressible("its opposite");
        add([&](StringLimits& limits) { limits.rejected = {made}; });
    }
    incomplete = incomplete || keywords.count("format") > 0;
}

void Schemas::negative_arrays(int location, Shape& shape, bool& incomplete) {
    const Keywords& keywords = keywords_of(location);
    const auto      add      = [&](const auto& violate) {
        Case each = case_of(Type::array);
        violate(each.array);
        shape.push_back(std::move(each));
    };
    if (const auto min = count(location, "minItems"); min.value_or(0) > 0) add([&](ArrayLimits& limits) { limits.max = *min - 1; });
    if (const auto max = count(location, "maxItems")) add([&](ArrayLimits& limits) { limits.min = *max + 1; });
    const auto prefix = keywords.find("prefixItems"), items = keywords.find("items");
    if (prefix != keywords.end() && prefix->second->is_array()) {
        for (size_t i = 0; i < prefix->second->size(); ++i) {
            add([&](ArrayLimits& limits) {
                limits.layers = {with_item(i, opposite_of(child(location, "prefixItems", i)))};
                limits.min    = i + 1;
            });
        }
    }
    if (items != keywords.end() && (prefix != keywords.end() || items->second->is_array())) {
        incomplete = true;
    } else if (items != keywords.end()) {
        const int each = child(location, "items");
        add([&](ArrayLimits& limits) { limits.contained = {{opposite_of(each), node_of(each), 1, kUnlimited}}; });
    }
    if (keywords.count("contains") > 0) {
        const int    contained = child(location, "contains");
        const size_t min = count(location, "minContains").value_or(1), max = count(location, "maxContains").value_or(kUnlimited);
        if (min > 0) add([&](ArrayLimits& limits) { limits.contained = {{node_of(contained), opposite_of(contained), 0, min - 1}}; });
        if (max != kUnlimited) {
            add([&](ArrayLimits& limits) { limits.contained = {{node_of(contained), opposite_of(contained), max + 1, kUnlimited}}; });
        }
    }
    incomplete = incomplete || keywords.count("uniqueItems") > 0;
}

void Schemas::negative_objects(int location, Shape& shape, bool& incomplete) {
    const Keywords& keywords = keywords_of(location);
    const auto      add      = [&](const auto& violate) {
        Case each = case_of(Type::object);
        violate(each.object);
        shape.push_back(std::move(each));
    };
    if (const auto min = count(location, "minProperties"); min.value_or(0) > 0) {
        add([&](ObjectLimits& limits) { limits.max = *min - 1; });
    }
    if (const auto max = count(location, "maxProperties")) add([&](ObjectLimits& limits) { limits.min = *max + 1; });
    if (const auto found = keywords.find("required"); found != keywords.end() && found->second->is_array()) {
        for (const common_json& name : *found->second) {
            if (!name.is_string()) continue;
            add([&](ObjectLimits& limits) { limits.layers = {with_property(name.get<std::string>(), kNothing)}; });
        }
    }
    if (const auto found = keywords.find("properties"); found != keywords.end() && found->second->is_object()) {
        for (const auto& [name, schema] : found->second->items()) {
            const NodeId node = opposite_of(child(location, "properties", name, schema));
            add([&, &key = name](ObjectLimits& limits) {
                limits.layers   = {with_property(key, node)};
                limits.required = {key};
            });
        }
    }
    for (const char* keyword : {"patternProperties", "additionalProperties", "propertyNames", "dependentRequired",
                                "dependentSchemas", "dependencies"}) {
        incomplete = incomplete || keywords.count(keyword) > 0;
    }
}

// Objects and arrays differ from one in a property or an item, or in their number.
Shape Schemas::none_of_values(const std::vector<const common_json*>& values) {
    bool                     no_null = false;
    Case                     boolean = case_of(Type::boolean), string = case_of(Type::string);
    std::vector<double>      numbers;
    std::vector<std::string> texts;
    Shape                    arrays = {case_of(Type::array)}, objects = {case_of(Type::object)};
    for (const common_json* value : values) {
        switch (type_of(*value)) {
            case Type::null: no_null = true; break;
            case Type::boolean: (value->get<bool>() ? boolean.no_true : boolean.no_false) = true; break;
            case Type::number: numbers.push_back(value->get<double>()); break;
            case Type::string: texts.push_back(value->get<std::string>()); break;
            case Type::array: {
                Case shorter = case_of(Type::array), longer = case_of(Type::array);
                longer.array.min = value->size() + 1;
                Shape others     = {longer};
                if (!value->empty()) {
                    shorter.array.max = value->size() - 1;
                    others.push_back(shorter);
                }
                for (size_t i = 0; i < value->size(); ++i) {
                    Case other         = case_of(Type::array);
                    other.array.min    = i + 1;
                    other.array.layers = {with_item(i, constant(value->at(i), true))};
                    others.push_back(other);
                }
                arrays = product(arrays, others);
                break;
            }
            case Type::object: {
                Case larger       = case_of(Type::object);
                larger.object.min = value->size() + 1;
                Shape others      = {larger};
                for (const auto& [name, member] : value->items()) {
                    Case without = case_of(Type::object), other = case_of(Type::object);
                    without.object.layers = {with_property(name, kNothing)};
                    other.object.layers   = {with_property(name, constant(member, true))};
                    other.object.required = {name};
                    others.push_back(without);
                    others.push_back(other);
                }
                objects = product(objects, others);
                break;
            }
        }
    }
    Shape shape;
    if (!no_null) shape.push_back(case_of(Type::null));
    if (!boolean.no_true || !boolean.no_false) shape.push_back(boolean);
    std::sort(numbers.begin(), numbers.end());
    Case between = case_of(Type::number);
    for (const double number : numbers) {
        if (!decimal_of(number)) throw NotExpressible("its opposite");
        Case below = between;
        below.number.lower(number, true);
        if (!below.number.is_empty()) shape.push_back(below);
        between.number = {};
        between.number.raise(number, true);
    }
    shape.push_back(between);
    if (!texts.empty()) {
        auto none       = std::make_shared<Pattern>();
        none->regex     = sequence({});
        none->automaton = std::make_unique<Automaton>(none_of(texts));
        string.string.accepted.push_back(std::move(none));
    }
    shape.push_back(string);
    shape.insert(shape.end(), arrays.begin(), arrays.end());
    shape.insert(shape.end(), objects.begin(), objects.end());
    return shape;
}

}  // namespace chasqui::schema
