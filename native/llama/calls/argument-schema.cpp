#include "argument-schema.h"

#include "../../core/error-code.h"
#include "presence.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace chasqui {

using schema::Automaton;
using schema::Combine;

namespace {

constexpr size_t kNoMaximum   = static_cast<size_t>(-1);
constexpr size_t kMaxCopied   = size_t{16} << 20;  // bytes
constexpr size_t kMaxResolved = 200'000;  // alternatives within alternatives multiply

const std::vector<std::string> kOtherTypes = {"null", "boolean", "integer", "number", "object", "array"};

// Begins the pattern of a custom tool's input, which is replaced in grammars for JSON and has no place in raw text
// (ts/api/shared/tools/input-grammars.ts).
const std::string kPlaceholder = "^the grammar in the description of ";

std::string type_of(const common_json& value) {
    if (value.is_null()) return "null";
    if (value.is_boolean()) return "boolean";
    if (value.is_number_integer()) return "integer";
    if (value.is_number()) return "number";
    if (value.is_object()) return "object";
    return value.is_array() ? "array" : "string";
}

std::set<std::string> types_of(const common_json& type) {
    if (type.is_string()) return {type.get<std::string>()};
    std::set<std::string> types;
    for (size_t i = 0; type.is_array() && i < type.size(); ++i) types.insert(type.at(i).get<std::string>());
    return types;
}

std::set<std::string> common_to(const std::set<std::string>& a, const std::set<std::string>& b) {
    std::set<std::string> both;
    for (const std::string& type : a) {
        if (b.count(type) > 0) both.insert(type);
        if (type == "integer" && b.count("number") > 0) both.insert(type);
        if (type == "number" && b.count("integer") > 0) both.insert("integer");
    }
    return both;
}

std::vector<std::string> strings_of(const common_json& schema) {
    std::vector<std::string> texts;
    if (schema.contains("const")) {
        if (schema.at("const").is_string()) texts.push_back(schema.at("const").get<std::string>());
        return texts;
    }
    const common_json& values = schema.at("enum");
    for (size_t i = 0; i < values.size(); ++i) {
        if (values.at(i).is_string()) texts.push_back(values.at(i).get<std::string>());
    }
    return texts;
}

size_t length_of(const common_json& count) {
    const double value = count.get<double>();
    if (!(value >= 0 && value < schema::Budget::kMaxStates)) throw schema::UnsupportedPattern("the length is too large");
    return static_cast<size_t>(value);
}

}  // namespace

const common_json& ArgumentSchema::resolve(const common_json& schema) const {
    if (++n_resolved_ > kMaxResolved) {
        throw Error(ErrorCode::invalid_grammar, "A tool's schema combines too many alternatives for the model's format of calls.");
    }
    const common_json* at = &schema;
    for (int i = 0; i < kMaxDepth && at->is_object(); ++i) {
        const char* keyword = at->contains("$ref") ? "$ref" : "$dynamicRef";
        if (!at->contains(keyword)) break;
        const common_json& next = target_of(*at, keyword);
        if (&next == at) break;
        at = &next;
    }
    return *at;
}

// The schema itself if there is nothing to follow.
const common_json& ArgumentSchema::target_of(const common_json& schema, const char* keyword) const {
    common_json rest = common_json::object();
    for (const auto& [name, value] : schema.items()) {
        if (name != keyword && schema::is_assertion(name)) rest[name] = value;
    }
    if (rest.size() > 0) {
        const auto [known, is_new] = joined_.emplace(schema.dump(), common_json::object());
        if (is_new) {
            known->second["allOf"] = common_json::array({common_json{{keyword, schema.at(keyword)}}});
            known->second["allOf"].push_back(rest);
        }
        return known->second;
    }
    if (schemas_ == nullptr) schemas_ = std::make_unique<schema::Schemas>(root_);
    const common_json* target = schemas_->referred(schema.at(keyword).get<std::string>());
    // With several documents, another schema of the name may be meant.
    const bool is_exact = target != nullptr && (keyword[1] == 'r' || root_.dump().find("\"$id\"") == std::string::npos);
    if (!is_exact) ignored_.insert(keyword);
    return target == nullptr ? schema : *target;
}

std::vector<const common_json*> ArgumentSchema::parts_of(const common_json& list) const {
    std::vector<const common_json*>        parts;
    std::unordered_set<const common_json*> known;
    for (size_t i = 0; i < list.size(); ++i) {
        const common_json* part = &resolve(list.at(i));
        if (known.insert(part).second) parts.push_back(part);
    }
    return parts;
}

Automaton ArgumentSchema::texts(const common_json& given, Automaton all, int depth) const {
    const common_json& schema = resolve(given);
    if (schema.is_boolean()) return is_true(schema) ? all : raw_texts::none();
    if (!schema.is_object() || depth > kMaxDepth) return all;
    if (schema.contains("type") && types_of(schema.at("type")).count("string") == 0) return raw_texts::none();

    const auto limit = [&](const char* keyword, Combine how, const auto& make) {
        if (!schema.contains(keyword)) return;
        try {
            all = schema::combine(all, make(schema.at(keyword)), how, budget_);
        } catch (const schema::UnsupportedPattern&) {
            ignored_.insert(keyword);
        } catch (const schema::InvalidPattern&) {
            ignored_.insert(keyword);
        }
    };
    const auto values = [&](const common_json&) { return raw_texts::of(strings_of(schema), budget_); };
    limit("const", Combine::both, values);
    limit("enum", Combine::both, values);
    limit("pattern", Combine::both, [&](const common_json& pattern) {
        const std::string text = pattern.get<std::string>();
        if (text.compare(0, kPlaceholder.size(), kPlaceholder) == 0) return raw_texts::any();
        return schema::automaton_of(*schema::parse_pattern(text), budget_);
    });
    limit("format", Combine::both, [&](const common_json& name) {
        const schema::RegexPtr format = schema::format_of(name.get<std::string>());
        if (format == nullptr) throw schema::UnsupportedPattern("unknown format");
        return schema::automaton_of(*format, budget_);
    });
    limit("minLength", Combine::both, [](const common_json& min) { return schema::of_length(length_of(min), kNoMaximum); });
    limit("maxLength", Combine::both, [](const common_json& max) { return schema::of_length(0, length_of(max)); });
    const auto without = [&](const Automaton& one, const Automaton& other) {
        return schema::combine(one, other, Combine::only_first, budget_);
    };
    for (const std::string keyword : {"anyOf", "oneOf"}) {
        limit(keyword.c_str(), Combine::both, [&](const common_json& choices) {
            Automaton unmatched = raw_texts::any(), possible = raw_texts::any();
            for (const common_json* choice : parts_of(choices)) {
                const Automaton permitted = texts(*choice, raw_texts::any(), depth + 1);
                if (keyword == "oneOf") possible = without(possible, without(permitted, unmatched));
                unmatched = without(unmatched, permitted);
            }
            return without(possible, unmatched);
        });
    }
    for (const std::string branch : {"then", "else"}) {
        limit("if", Combine::only_first, [&](const common_json& condition) {
            if (!schema.contains(branch)) return raw_texts::none();
            const Automaton matching = texts(condition, raw_texts::any(), depth + 1);
            const Automaton permitted = texts(schema.at(branch), raw_texts::any(), depth + 1);
            return without(branch == "then" ? matching : raw_texts::complement(matching, budget_), permitted);
        });
    }
    limit("allOf", Combine::both, [&](const common_json& parts) {
        Automaton both = raw_texts::any();
        for (const common_json* part : parts_of(parts)) both = texts(*part, std::move(both), depth + 1);
        return both;
    });
    limit("not", Combine::only_first, [&](const common_json& other) { return texts(other, raw_texts::any(), depth + 1); });
    return all;
}

std::set<std::string> ArgumentSchema::other_types(const common_json& given, int depth) const {
    const common_json&    schema = resolve(given);
    std::set<std::string> all(kOtherTypes.begin(), kOtherTypes.end());
    if (schema.is_boolean()) return is_true(schema) ? all : std::set<std::string>{};
    if (!schema.is_object() || depth > kMaxDepth) return all;
    if (schema.contains("type")) all = common_to(all, types_of(schema.at("type")));
    if (schema.contains("const")) all = common_to(all, {type_of(schema.at("const"))});
    if (schema.contains("enum")) {
        std::set<std::string> types;
        for (size_t i = 0; i < schema.at("enum").size(); ++i) types.insert(type_of(schema.at("enum").at(i)));
        all = common_to(all, types);
    }
    for (const char* keyword : {"anyOf", "oneOf"}) {
        if (!schema.contains(keyword)) continue;
        std::set<std::string> types;
        for (const common_json* choice : parts_of(schema.at(keyword))) types.merge(other_types(*choice, depth + 1));
        all = common_to(all, types);
    }
    if (schema.contains("allOf")) {
        for (const common_json* part : parts_of(schema.at("allOf"))) all = common_to(all, other_types(*part, depth + 1));
    }
    if (schema.contains("not")) {
        const common_json& other = resolve(schema.at("not"));
        if (!other.is_object() || !other.contains("type")) return all;
        for (const auto& [name, value] : other.items()) {
            if (name != "type" && schema::is_assertion(name)) return all;
        }
        for (const std::string& type : common_to(all, types_of(other.at("type")))) all.erase(type);
    }
    return all;
}

common_json ArgumentSchema::strip_texts(const common_json& given, int depth) const {
    common_json schema = resolve(given);
    if (is_true(schema)) schema = common_json::object();
    if (!schema.is_object() || depth > kMaxDepth) return schema;
    for (const char* keyword : {"anyOf", "oneOf"}) {
        if (!schema.contains(keyword)) continue;
        common_json kept = common_json::array();
        for (const common_json* choice : parts_of(schema.at(keyword))) {
            if (!other_types(*choice, depth + 1).empty()) kept.push_back(strip_texts(*choice, depth + 1));
        }
        schema[keyword] = kept;
    }
    if (schema.contains("enum")) {
        common_json kept = common_json::array();
        for (size_t i = 0; i < schema.at("enum").size(); ++i) {
            if (!schema.at("enum").at(i).is_string()) kept.push_back(schema.at("enum").at(i));
        }
        schema["enum"] = kept;
    } else if (!schema.contains("const") && !schema.contains("anyOf") && !schema.contains("oneOf")) {
        const std::set<std::string> types = other_types(schema, depth);
        if (types.size() == 1) {
            schema["type"] = *types.begin();
        } else {
            common_json all = common_json::array();
            for (const std::string& type : types) all.push_back(type);
            schema["type"] = all;
        }
        for (const char* keyword : {"pattern", "format", "minLength", "maxLength"}) {
            if (schema.contains(keyword)) schema.erase(keyword);
        }
    } else if (schema.contains("type") && schema.at("type").is_array()) {
        schema.erase("type");  // the alternatives have theirs
    }
    return schema;
}

common_json ArgumentSchema::without_texts(const common_json& given) const {
    return with_definitions(strip_texts(given, 0));
}

common_json ArgumentSchema::with_definitions(common_json schema) const {
    if (!schema.is_object()) return schema;
    for (const char* note : {"title", "description", "default", "examples"}) {
        if (schema.contains(note)) schema.erase(note);
    }
    const std::string text = schema.dump();
    if (!root_.is_object() || (text.find("\"$ref\"") == std::string::npos && text.find("\"$dynamicRef\"") == std::string::npos)) return schema;
    // The arguments become a document within the document: references keep their meaning.
    n_copied_ += root_.dump().size();
    if (n_copied_ > kMaxCopied) throw Error(ErrorCode::invalid_grammar, "A tool's schema is too large for its number of references.");
    common_json       root  = root_;
    const std::string given = root.contains("$id") ? root.at("$id").get<std::string>() : "";
    const std::string id    = given.empty() || given[0] == '#' ? "arguments:" : given.substr(0, given.find('#'));
    std::string       name  = "value";
    if (!root.contains("$defs")) root["$defs"] = common_json::object();
    while (root.at("$defs").contains(name)) name += "-";
    root["$id"]         = id;
    root["$defs"][name] = schema;
    common_json whole   = common_json::object();
    whole["$ref"]       = id + "#/$defs/" + name;
    whole["$defs"]      = common_json::object();
    whole["$defs"]["arguments"] = root;
    return whole;
}

// Keywords beside the alternatives apply to each of them. Alternatives of `oneOf` exclude each other.
common_json ArgumentSchema::with_rest(const common_json& schema, const std::string& keyword, const common_json& choice,
                                      const std::vector<const common_json*>& choices) const {
    common_json one = common_json::object(), rest = schema;
    one["allOf"]    = common_json::array();
    rest.erase(keyword);
    if (rest.contains("unevaluatedProperties")) {
        one["unevaluatedProperties"] = rest.at("unevaluatedProperties");
        rest.erase("unevaluatedProperties");
    }
    const bool has_type = rest.contains("type") && choice.is_object() && choice.contains("type");
    if (has_type && choice.at("type").dump() == rest.at("type").dump()) rest.erase("type");
    bool has_rest = false;
    for (const auto& [name, value] : rest.items()) has_rest = has_rest || schema::is_assertion(name);
    if (has_rest) one["allOf"].push_back(rest);
    one["allOf"].push_back(choice);
    for (const common_json* other : choices) {
        if (keyword != "oneOf" || other == &choice || common_to(other_types(choice), other_types(*other)).empty()) continue;
        n_copied_ += other->dump().size();
        one["allOf"].push_back(common_json{{"$comment", kOfOneOf}, {"not", *other}});
    }
    if (n_copied_ > kMaxCopied) throw Error(ErrorCode::invalid_grammar, "The alternatives of a tool's schema are too large.");
    return one;
}

void ArgumentSchema::collect(const common_json& given, std::vector<common_json>& all, int depth) const {
    const common_json& schema = resolve(given);
    if (depth > kMaxDepth) return;
    for (const char* keyword : {"anyOf", "oneOf"}) {
        if (!schema.is_object() || !schema.contains(keyword)) continue;
        if (is_about_presence(common_json{{keyword, schema.at(keyword)}})) continue;
        const auto choices = parts_of(schema.at(keyword));
        for (const common_json* choice : choices) {
            const common_json one = with_rest(schema, keyword, *choice, choices);
            collect(one.size() + one.at("allOf").size() > 2 ? one : *choice, all, depth + 1);
        }
        return;
    }
    const std::set<std::string> types = other_types(schema);
    for (const std::string& type : types) {
        if (type == "integer" && types.count("number") > 0) continue;
        common_json one = schema.is_object() ? schema : common_json::object();
        one["type"]     = type;
        all.push_back(one);
    }
}

// Reports keywords that apply to arrays and are not among the limits.

std::vector<common_json> ArgumentSchema::alternatives(const common_json& schema) const {
    std::vector<common_json> all;
    collect(schema, all, 0);
    return all;
}

common_json ArgumentSchema::described(const common_json& given, bool flat, int depth) const {
    const common_json& schema = resolve(given);
    common_json        simple = common_json::object();
    simple["description"]     = schema.is_object() ? schema.value("description", std::string()) : "";
    if (!schema.is_object() || depth > kMaxDepth) {
        simple["type"] = "string";
        return simple;
    }
    std::set<std::string> types = other_types(schema);
    types.erase("null");
    const bool as_text   = flat && types.count("array") > 0;
    const bool has_texts = as_text || (!types.empty() && !schema.contains("properties") && !texts(schema).is_empty());
    simple["type"]       = types.empty() || has_texts ? "string" : types.count("number") > 0 ? "number" : *types.begin();
    if (schema.contains("enum")) simple["enum"] = schema.at("enum");
    if (schema.contains("const")) simple["enum"] = common_json::array({schema.at("const")});
    if (types.count("object") > 0 && !has_texts) {
        common_json properties = common_json::object(), required = common_json::array();
        for (const Property& property : properties_of(schema).list) {
            properties[property.name] = described(property.schema, flat, depth + 1);
            if (property.is_required) required.push_back(property.name);
        }
        simple["properties"] = properties;
        simple["required"]   = required;
        simple["additionalProperties"] = common_json{{"type", "string"}};
    } else if (types.count("array") > 0 && !has_texts) {
        simple["items"] = described(schema.value("items", common_json::object()), flat, depth + 1);
    }
    return simple;
}

}  // namespace chasqui
