// The cases of a schema and of its opposite, from its keywords that combine other schemas.
#include "schemas.h"

#include <algorithm>

namespace chasqui::schema {

namespace {

constexpr unsigned kMaxNesting   = 300;   // of schemas about the same value
constexpr size_t   kMaxDisjoint  = 4000;  // pairs of cases that are compared

void append(Shape& to, const Shape& from) { to.insert(to.end(), from.begin(), from.end()); }

// Violations evaluate no properties or items.
void forget_evaluated(Shape& shape) {
    const auto forget = [](auto& layers) {
        for (auto& layer : layers) {
            if (!layer->evaluates) continue;
            auto copy       = std::make_shared<std::decay_t<decltype(*layer)>>(*layer);
            auto changed    = std::const_pointer_cast<std::remove_const_t<std::decay_t<decltype(*layer)>>>(copy);
            changed->evaluates = false;
            layer              = changed;
        }
    };
    for (Case& each : shape) {
        forget(each.array.layers);
        forget(each.object.layers);
        for (Contained& contained : each.array.contained) contained.evaluates = false;
    }
}

}  // namespace

const Shape& Schemas::cases_of(Literal unresolved) {
    const Literal literal = resolve(unresolved);
    const auto    found   = cases_.find(literal);
    if (found != cases_.end()) return *found->second;
    if (open_.size() > kMaxNesting || !open_.insert(literal).second) throw NotExpressible("it leads back to itself");
    Shape shape;
    try {
        shape = literal % 2 == 0 ? positive(literal / 2) : negative(literal / 2);
    } catch (...) {
        open_.erase(literal);
        throw;
    }
    open_.erase(literal);
    count_cases(shape);
    return *cases_.emplace(literal, std::make_unique<Shape>(std::move(shape))).first->second;
}

std::vector<Schemas::Literal> Schemas::parts(int location, const std::string& keyword, bool negated) {
    const common_json& value = *keywords_of(location).at(keyword);
    if (value.empty()) fail(location, keyword + " must not be empty");
    std::vector<Literal> literals;
    for (size_t i = 0; i < value.size(); ++i) literals.push_back(resolve(2 * child(location, keyword, i) + (negated ? 1 : 0)));
    std::sort(literals.begin(), literals.end());
    literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
    return literals;
}

Shape Schemas::conjunction(const std::vector<Literal>& literals) {
    Shape shape = any_value();
    for (const Literal each : literals) shape = product(shape, cases_of(each));
    return shape;
}

Shape Schemas::disjunction(const std::vector<Literal>& literals) {
    Shape shape;
    for (const Literal each : literals) append(shape, cases_of(each));
    return shape;
}

bool Schemas::is_disjoint(const std::vector<Literal>& literals) {
    size_t n = 0;
    for (size_t i = 0; i < literals.size(); ++i) {
        for (size_t k = 0; k < i; ++k) {
            const Shape& one   = cases_of(literals[i]);
            const Shape& other = cases_of(literals[k]);
            n += one.size() * other.size();
            if (n > kMaxDisjoint) throw NotExpressible("too many alternatives");
            const Shape both = product(one, other);
            if (std::any_of(both.begin(), both.end(), [&](const Case& each) { return is_possible(each); })) return false;
        }
    }
    return true;
}

Shape Schemas::exactly_one(int location) {
    const std::vector<Literal> literals = parts(location, "oneOf", false);
    Shape                      any      = disjunction(literals);
    if (literals.size() < keywords_of(location).at("oneOf")->size()) ignore(location, "oneOf");  // it repeats a schema
    try {
        if (is_disjoint(literals)) return any;
        Shape one;
        for (const Literal chosen : literals) {
            Shape shape = cases_of(chosen);
            for (const Literal other : literals) {
                if (other != chosen) shape = product(shape, cases_of(other ^ 1));
            }
            append(one, shape);
        }
        return one;
    } catch (const NotExpressible&) {
        ignore(location, "oneOf");
        return any;
    }
}

Shape Schemas::all_but_one(int location) {
    const std::vector<Literal> literals = parts(location, "oneOf", false);
    Shape                      shape    = conjunction(parts(location, "oneOf", true));
    for (size_t i = 0; i < literals.size(); ++i) {
        for (size_t k = 0; k < i; ++k) append(shape, product(cases_of(literals[i]), cases_of(literals[k])));
    }
    return shape;
}

Shape Schemas::conditional(int location, bool negated) {
    const Keywords& keywords  = keywords_of(location);
    const Literal   condition = 2 * child(location, "if");
    const auto      branch    = [&](Literal test, const char* keyword) {
        if (keywords.count(keyword) == 0) return negated ? Shape{} : Shape(cases_of(test));
        return product(cases_of(test), cases_of(2 * child(location, keyword) + (negated ? 1 : 0)));
    };
    if (keywords.count("then") == 0 && keywords.count("else") == 0) return negated ? Shape{} : any_value();
    Shape shape = branch(condition, "then");
    append(shape, branch(condition + 1, "else"));
    return shape;
}

// dependentRequired, dependentSchemas, and the older `dependencies` for both.
Shape Schemas::dependencies(int location, Shape shape) {
    for (const char* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
        const auto found = keywords_of(location).find(keyword);
        if (found == keywords_of(location).end()) continue;
        for (const auto& [name, needed] : found->second->items()) {
            Case present = case_of(Type::object), absent = case_of(Type::object);
            present.object.required = {name};
            auto without            = std::make_shared<NameLayer>();
            without->evaluates      = false;
            without->add(name, kNothing);
            absent.object.layers = {without};
            Shape either         = {absent};
            if (needed.is_array()) {
                for (const common_json& other : needed) {
                    if (!other.is_string()) fail(location, std::string(keyword) + " must list names");
                    present.object.required.push_back(other.get<std::string>());
                }
                append(either, {present});
            } else {
                append(either, product({present}, cases_of(2 * child(location, keyword, name, needed))));
            }
            for (const Case& each : any_value()) {
                if (each.type != Type::object) either.push_back(each);
            }
            shape = product(shape, either);
        }
    }
    return shape;
}

Shape Schemas::without_unevaluated(int location, Shape shape) {
    const Keywords& keywords = keywords_of(location);
    Shape           result;
    const bool      of_names = keywords.count("unevaluatedProperties") > 0, of_items = keywords.count("unevaluatedItems") > 0;
    if (!of_names && !of_items) return shape;
    for (const Case& each : shape) {
        Case limit = case_of(each.type);
        if (each.type == Type::object && of_names) {
            auto layer        = std::make_shared<NameLayer>();
            layer->additional = node_of(child(location, "unevaluatedProperties"));
            bool all          = false;
            for (const auto& evaluated : each.object.layers) {
                if (!evaluated->evaluates) continue;
                all = all || evaluated->has_additional;
                for (const auto& [name, node] : evaluated->properties) layer->add(name, kAnything);
                for (const auto& [pattern, node] : evaluated->patterns) layer->patterns.emplace_back(pattern, kAnything);
            }
            layer->has_additional = true;
            if (!all) limit.object.layers = {layer};
        } else if (each.type == Type::array && of_items) {
            auto layer  = std::make_shared<ItemLayer>();
            layer->rest = node_of(child(location, "unevaluatedItems"));
            bool   all  = false;
            size_t n    = 0;
            for (const auto& evaluated : each.array.layers) {
                if (!evaluated->evaluates) continue;
                all = all || evaluated->has_rest;
                n   = std::max(n, evaluated->prefix.size());
            }
            layer->prefix.assign(n, kAnything);
            layer->has_rest = true;
            for (const Contained& contained : each.array.contained) {
                if (contained.evaluates) layer->rest = either(layer->rest, contained.node);
            }
            if (!all) limit.array.layers = {layer};
        }
        if (std::optional<Case> both = meet(each, limit)) result.push_back(*std::move(both));
    }
    return result;
}

Shape Schemas::positive(int location) {
    const common_json& schema = *locations_[location].schema;
    if (schema.is_boolean()) return schema.get<bool>() ? any_value() : Shape{};
    const Keywords& keywords = keywords_of(location);
    Shape           shape    = own_cases(location);
    if (const auto& either = locations_[location].either) {
        shape = shape_of(either->first);
        append(shape, shape_of(either->second));
    }
    const auto      apply    = [&](const std::string& keyword, const auto& cases) {
        if (keywords.count(keyword) == 0) return;
        try {
            shape = product(shape, cases());
        } catch (const NotExpressible&) {
            ignore(location, keyword);
        }
    };
    for (const std::string keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
        apply(keyword, [&] {
            const int target = target_of(location, keyword);
            if (target < 0) throw NotExpressible("a schema of another document");
            return Shape(cases_of(2 * target));
        });
    }
    if (keywords.count("allOf") > 0) {
        for (const Literal part : parts(location, "allOf", false)) {
            try {
                shape = product(shape, cases_of(part));
            } catch (const NotExpressible&) {
                ignore(part / 2, "");
            }
        }
    }
    apply("anyOf", [&] { return disjunction(parts(location, "anyOf", false)); });
    apply("oneOf", [&] { return exactly_one(location); });
    apply("not", [&] { return Shape(cases_of(2 * child(location, "not") + 1)); });
    apply("if", [&] { return conditional(location, false); });
    try {
        shape = dependencies(location, shape);
    } catch (const NotExpressible&) {
        for (const char* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
            if (keywords.count(keyword) > 0) ignore(location, keyword);
        }
    }
    return without_unevaluated(location, std::move(shape));
}

Shape Schemas::negative(int location) {
    const common_json& schema = *locations_[location].schema;
    if (schema.is_boolean()) return schema.get<bool>() ? Shape{} : any_value();
    const Keywords& keywords   = keywords_of(location);
    bool            incomplete = false;
    Shape           shape      = negative_keywords(location, incomplete);
    const auto      add        = [&](const std::string& keyword, const auto& cases) {
        if (keywords.count(keyword) > 0) append(shape, cases());
    };
    for (const std::string keyword : {"$ref", "$dynamicRef"}) {
        add(keyword, [&] {
            const int target = target_of(location, keyword);
            if (target < 0) throw NotExpressible("a schema of another document");
            return Shape(cases_of(2 * target + 1));
        });
    }
    add("allOf", [&] { return disjunction(parts(location, "allOf", true)); });
    add("anyOf", [&] { return conjunction(parts(location, "anyOf", true)); });
    add("oneOf", [&] { return all_but_one(location); });
    add("not", [&] { return Shape(cases_of(2 * child(location, "not"))); });
    add("if", [&] { return conditional(location, true); });
    if (shape.empty() && incomplete) throw NotExpressible("its opposite");
    forget_evaluated(shape);
    return shape;
}

Shape Schemas::own_cases(int location) {
    const Keywords& keywords = keywords_of(location);
    bool            integer  = false;
    const unsigned  types    = types_of(location, integer);
    const unsigned  implied  = implied_by(location);
    Shape           shape;
    for (Case each : any_value()) {
        if ((types & bit(each.type)) == 0) continue;
        each.has_type       = keywords.count("type") > 0;
        each.implied        = implied;
        each.number.integer = integer;
        switch (each.type) {
            case Type::number: read_number(location, each); break;
            case Type::string: read_string(location, each); break;
            case Type::array: read_array(location, each); break;
            case Type::object: read_object(location, each); break;
            default: break;
        }
        shape.push_back(std::move(each));
    }
    const auto one = keywords.find("const"), several = keywords.find("enum");
    const auto only = [&](const std::vector<const common_json*>& values) {
        Shape literals;
        for (const common_json* value : values) {
            Case each     = case_of(type_of(*value));
            each.has_type = true;
            each.literal  = value;
            literals.push_back(each);
        }
        shape = product(literals, shape);
    };
    if (one != keywords.end()) only({one->second});
    if (several != keywords.end()) {
        std::vector<const common_json*> values;
        for (const common_json& value : *several->second) values.push_back(&value);
        if (values.empty()) {
            ignore(location, "enum");
        } else {
            only(values);
        }
    }
    return shape;
}

}  // namespace chasqui::schema
