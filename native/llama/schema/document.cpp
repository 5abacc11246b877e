#include "document.h"

#include "value-rules.h"

#include <stdexcept>
#include <utility>

namespace chasqui::schema {

namespace {

constexpr unsigned kMaxViewDepth = 32;
constexpr size_t   kMaxViewNodes = 20'000;

struct Document {
    explicit Document(common_json schema) : json(std::move(schema)), schemas(json) {}

    const common_json json;
    Schemas           schemas;
};

// Links a node of common_chat_schema to our node.
struct Source {
    virtual ~Source() = default;

    std::shared_ptr<Document> document;
    NodeId                    node  = kAnything;
    unsigned                  types = kAllTypes;
};

template <typename T>
struct Sourced : T, Source {
    using T::T;
};

std::vector<const Case*> cases_of(const Source& source) {
    std::vector<const Case*> cases;
    for (const Case* each : source.document->schemas.likely_cases(source.node)) {
        if ((source.types & bit(each->type)) != 0) cases.push_back(each);
    }
    return cases;
}

bool allows_anything(const std::vector<const Case*>& cases) {
    unsigned types = 0;
    for (const Case* each : cases) types |= is_unlimited(*each) ? bit(each->type) : 0;
    return types == kAllTypes;
}

// Builds the tree that handlers of templates look at.
class View {
public:
    explicit View(std::shared_ptr<Document> document) : document_(std::move(document)) {}

    common_chat_schema_ptr of(NodeId node, unsigned types, unsigned depth) {
        Source source;
        source.document                      = document_;
        source.node                          = node;
        source.types                         = types;
        const std::vector<const Case*> cases = cases_of(source);
        if (++n_nodes_ > kMaxViewNodes || depth > kMaxViewDepth || cases.empty() || allows_anything(cases)) {
            return made<common_chat_schema_any>(source);
        }
        unsigned present   = 0;
        bool     constants = true;
        for (const Case* each : cases) {
            present |= bit(each->type);
            constants = constants && each->literal != nullptr;
        }
        if (constants) {
            auto result = made<common_chat_schema_enum>(source);
            for (const Case* each : cases) result->values.push_back(*each->literal);
            return result;
        }
        if ((present & (present - 1)) != 0) {
            auto result = made<common_chat_schema_any_of>(source);
            for (unsigned type = 1; type <= kAllTypes; type <<= 1U) {
                if ((present & type) != 0) result->children.push_back(of(node, type, depth + 1));
            }
            return result;
        }
        switch (cases[0]->type) {
            case Type::null: return made<common_chat_schema_null>(source);
            case Type::boolean: return made<common_chat_schema_boolean>(source);
            case Type::string: return made<common_chat_schema_string>(source);
            case Type::number: {
                bool integer = true;
                for (const Case* each : cases) integer = integer && each->number.integer;
                if (integer) return made<common_chat_schema_integer>(source);
                return made<common_chat_schema_number>(source);
            }
            case Type::array: return array(source, cases, depth);
            default: return object(source, cases, depth);
        }
    }

private:
    template <typename T>
    std::unique_ptr<Sourced<T>> made(const Source& source) {
        auto result                       = std::make_unique<Sourced<T>>();
        static_cast<Source&>(*result) = source;
        return result;
    }

    common_chat_schema_ptr array(const Source& source, const std::vector<const Case*>& cases, unsigned depth) {
        auto   result = made<common_chat_schema_array>(source);
        NodeId items  = kAnything;
        for (const auto& layer : cases[0]->array.layers) {
            items = document_->schemas.both(items, layer->rest);
            if (!layer->prefix.empty()) return made<common_chat_schema_tuple>(source);
        }
        result->items = of(cases.size() == 1 ? items : kAnything, kAllTypes, depth + 1);
        return result;
    }

    // The properties of all cases. One that they disagree about may be anything.
    common_chat_schema_ptr object(const Source& source, const std::vector<const Case*>& cases, unsigned depth) {
        struct Property {
            NodeId node;
            size_t n_required = 0;
        };
        auto                                      result = made<common_chat_schema_object>(source);
        std::vector<std::string>                  names;
        std::unordered_map<std::string, Property> properties;
        for (const Case* each : cases) {
            const ObjectLimits& limits = each->object;
            const auto          add    = [&](const std::string& name) {
                const NodeId node = document_->schemas.property(limits, name);
                if (document_->schemas.is_empty(node)) return;
                const auto [found, is_new] = properties.emplace(name, Property{node});
                if (is_new) names.push_back(name);
                if (found->second.node != node) found->second.node = kAnything;
            };
            for (const auto& layer : limits.layers) {
                for (const auto& [name, node] : layer->properties) add(name);
            }
            for (const std::string& name : limits.required) {
                add(name);
                ++properties[name].n_required;
            }
        }
        for (const std::string& name : names) {
            const Property& property = properties.at(name);
            result->properties.push_back({name, of(property.node, kAllTypes, depth + 1), property.n_required == cases.size()});
        }
        return result;
    }

    std::shared_ptr<Document> document_;
    size_t                    n_nodes_ = 0;
};

void refuse_empty(Schemas& schemas, NodeId node) {
    if (schemas.is_empty(node)) throw std::runtime_error("it allows no value");
}

}  // namespace

Converted convert(const common_json& schema) {
    Schemas      schemas(schema);
    const NodeId root = schemas.root();
    refuse_empty(schemas, root);
    Rules      rules;
    ValueRules values(schemas, rules);
    rules.set("root", values.rule_of(root, ""));
    return {rules.grammar(), schemas.unenforced()};
}

}  // namespace chasqui::schema

// What llama.cpp's headers declare.

using namespace chasqui::schema;

common_chat_schema_document common_chat_schema_from_json(const common_json& schema) {
    auto         document = std::make_shared<Document>(schema);
    const NodeId root     = document->schemas.root();
    refuse_empty(document->schemas, root);
    common_chat_schema_document result;
    result.root = View(document).of(root, kAllTypes, 0);
    return result;
}

common_chat_schema::type_set common_chat_schema::value_types() const {
    const auto* source = dynamic_cast<const Source*>(this);
    if (source == nullptr) return type_set::all();
    type_set types;
    for (const Case* each : cases_of(*source)) {
        static constexpr value_type kTypesOf[] = {TYPE_NULL, TYPE_BOOLEAN, TYPE_INTEGER, TYPE_STRING, TYPE_ARRAY, TYPE_OBJECT};
        const bool                  is_integer = each->literal != nullptr ? each->literal->is_number_integer() : each->number.integer;
        types.add(kTypesOf[static_cast<size_t>(each->type)]);
        if (each->type == Type::number && !is_integer) types.add(TYPE_NUMBER);
    }
    return types;
}

bool common_chat_schema::may_be_string() const {
    const auto* source = dynamic_cast<const Source*>(this);
    return source != nullptr && !allows_anything(cases_of(*source)) && value_types().has(TYPE_STRING);
}

const char* common_chat_schema::kind_name(node_kind kind) {
    static constexpr const char* kNames[] = {"any",     "ref",    "anyOf",   "allOf",  "const", "enum",  "null",
                                             "boolean", "number", "integer", "string", "array", "tuple", "object"};
    return kNames[kind];
}

const char* common_chat_schema::type_name(value_type type) {
    static constexpr const char* kNames[] = {"null", "boolean", "number", "integer", "string", "array", "object"};
    return kNames[type];
}

std::string json_schema_to_grammar(const common_json& schema, bool) {
    try {
        return convert(schema).gbnf;
    } catch (const std::runtime_error& error) {
        throw std::invalid_argument(error.what());
    }
}

std::string gbnf_format_literal(const std::string& text) { return literal(text); }

std::string build_grammar(const std::function<void(const common_grammar_builder&)>& add_rules, const common_grammar_options&) {
    Rules                                                  rules;
    std::map<std::shared_ptr<Document>, std::unique_ptr<ValueRules>> values;
    common_grammar_builder                                 builder;
    builder.add_rule = [&](const std::string& name, const std::string& body) {
        rules.set(name, body);
        return name;
    };
    builder.add_schema = [&](const std::string& name, const common_chat_schema& schema) {
        const auto* source = dynamic_cast<const Source*>(&schema);
        if (source == nullptr) return rules.primitive("value");
        std::unique_ptr<ValueRules>& of_document = values[source->document];
        if (of_document == nullptr) of_document = std::make_unique<ValueRules>(source->document->schemas, rules);
        return of_document->rule_of(source->node, name, source->types);
    };
    add_rules(builder);
    return rules.grammar();
}
