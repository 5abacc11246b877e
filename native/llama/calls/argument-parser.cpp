#include "argument-parser.h"

#include "../../core/error-code.h"
#include "call-parser.h"
#include "../sampling/gbnf.h"
#include "../schema/rules.h"

#include <common.h>
#include <json-schema-to-grammar.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace chasqui {

namespace {

using Peg    = common_peg_parser;
using Values = CallFormat::Values;

constexpr int64_t kMaxItems = 1000;

// A pattern of the strings that json_of() takes for another type.
std::string like(const std::set<std::string>& types) {
    static const std::pair<const char*, const char*> kPatterns[] = {
        {"object", R"(^\{)"},
        {"array", R"(^\[)"},
        {"number", R"(^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*$)"},
        {"integer", R"(^-?[0-9]+\s*$)"},
        {"boolean", R"(^(true|false)\s*$)"},
        {"null", R"(^(null|None)\s*$)"},
    };
    std::string all;
    for (const auto& [type, pattern] : kPatterns) {
        if (types.count(type) > 0) all += (all.empty() ? "" : "|") + std::string(pattern);
    }
    return all;
}

bool has_nested(const std::set<std::string>& types) { return types.count("object") > 0 || types.count("array") > 0; }

}  // namespace

Peg ArgumentParser::nothing() { return p.gbnf(p.eps(), "\"\""); }

Peg ArgumentParser::text(const std::string& pattern, const Placeholders& placeholders) {
    Peg        all = p.eps();
    const auto add = [&](Peg part) { all = all + part; };
    for (size_t at = 0; at < pattern.size();) {
        if (pattern[at] == '~') {
            add(p.space());
            ++at;
            continue;
        }
        if (pattern[at] != '$') {
            const size_t end = std::min(pattern.find_first_of("~$", at), pattern.size());
            add(p.literal(pattern.substr(at, end - at)));
            at = end;
            continue;
        }
        if (pattern[at + 1] == '[') {
            const size_t end = pattern.find("$]", at);
            add(p.atomic(p.tag(call_tag::kId, text(pattern.substr(at + 2, end - at - 2), placeholders))));
            at = end + 2;
            continue;
        }
        size_t end = at + 1;
        while (end < pattern.size() && (std::isalpha(static_cast<unsigned char>(pattern[end])) || pattern[end] == '_')) ++end;
        add(placeholders.at(pattern.substr(at + 1, end - at - 1))());
        at = end;
    }
    return all;
}

std::string ArgumentParser::json_rule(const common_json& schema) {
    const auto known = json_rules_.find(schema.dump());
    if (known != json_rules_.end()) return known->second;
    const std::string prefix = "j" + std::to_string(json_rules_.size() + 1) + "-";
    rules += with_prefixed_names(json_schema_to_grammar(schema), prefix) + "\n";
    return json_rules_[schema.dump()] = prefix + "root";
}

// False for an alternative that excludes all of its values.
bool ArgumentParser::is_possible(const common_json& schema) {
    try {
        return !json_rule(schema).empty();
    } catch (const std::invalid_argument&) {
        return false;
    }
}

// Grammars allow whitespace after JSON.
Peg ArgumentParser::json(const common_json& schema) {
    return p.gbnf(p.tag(call_tag::kJson, p.json()) + p.space(), json_rule(schema));
}

std::string ArgumentParser::text_rule(const schema::Automaton& texts) {
    schema::Rules     grammar;
    const std::string first = grammar.plain_text(texts), gbnf = grammar.grammar();
    const auto [known, is_new] = text_rules_.emplace(gbnf, "");
    if (is_new) {
        const std::string prefix = "s" + std::to_string(text_rules_.size()) + "-";
        known->second            = prefix + first;
        rules += with_prefixed_names(gbnf, prefix) + "\n";
    }
    return known->second;
}

// A raw string up to `close`, which is included. No match of the pattern `excluded` is permitted.
Peg ArgumentParser::raw(const ArgumentSchema& schema, const common_json& value, const std::string& close,
                        const std::string& excluded) {
    schema::RegexPtr wrong = raw_texts::ended_early(close);
    if (!excluded.empty()) wrong = schema::choice({wrong, schema::parse_pattern(excluded)});
    const schema::Automaton plain = raw_texts::complement(schema::automaton_of(*wrong, budget_), budget_);
    const schema::Automaton texts = schema.texts(value, plain);
    if (texts.is_empty()) {
        throw Error(ErrorCode::invalid_grammar, "A tool's schema permits no string that the model's format of calls can hold.");
    }
    return p.gbnf(p.tag(call_tag::kText, p.until(close)), text_rule(texts)) + p.literal(close);
}

Peg ArgumentParser::string(const ArgumentSchema& schema, const common_json& value, const std::string& close,
                           const std::string& excluded) {
    if (!format_.has_cdata) return raw(schema, value, close, excluded);
    static const std::string kOpen = "<![CDATA[", kClose = "]]>";
    const std::string        others = (excluded.empty() ? "" : excluded + "|") + R"(^<!\[CDATA\[)";
    return p.choice({p.literal(kOpen) + raw(schema, value, kClose, excluded) + p.literal(close),
                     p.negate(p.literal(kOpen)) + raw(schema, value, close, others)});
}

// Reads a value of one of these types if it may also be a string.
Peg ArgumentParser::json_of(const std::set<std::string>& types) {
    Peg any = p.choice();
    if (types.count("object") > 0) any |= p.json_object();
    if (types.count("array") > 0) any |= p.json_array();
    if (types.count("number") > 0) {
        any |= p.json_number();
    } else if (types.count("integer") > 0) {
        any |= p.optional(p.literal("-")) + p.chars("[0-9]", 1, -1);
    }
    if (types.count("boolean") > 0) any |= p.json_bool();
    if (types.count("null") > 0) any |= p.json_null();
    return any;
}

Peg ArgumentParser::close_json(const std::string& close) { return p.space() + p.literal(string_strip(close)); }

// `anywhere`: the values in all forms of the arguments. A text has the same type in each of them.
Peg ArgumentParser::raw_or_json(const ArgumentSchema& schema, const common_json& value, const common_json& anywhere,
                                const std::string& close) {
    const std::set<std::string> types = schema.other_types(value), all = schema.other_types(anywhere);
    if (all.empty()) return string(schema, value, close);
    if (schema.texts(anywhere).is_empty()) return none_or(types, close, json(schema.without_texts(value)) + close_json(close));
    const Peg typed  = p.tag(call_tag::kJson, json_of(all)) + p.space();
    Peg       either = p.choice();
    if (!types.empty()) either |= p.atomic(p.gbnf(typed, json_rule(schema.without_texts(value))) + close_json(close));
    if (!schema.texts(value).is_empty()) {
        try {
            const Peg text = string(schema, value, close, like(all));
            either |= types == all ? text : p.negate(none_or(all, close, typed + close_json(close))) + text;
        } catch (const Error&) {
            if (types.empty()) throw;  // Every permitted string looks like another type, which the model can write instead.
        }
    }
    return none_or(types, close, either);
}

Peg ArgumentParser::none_or(const std::set<std::string>& types, const std::string& close, const Peg& value) {
    if (!format_.writes_none || types.count("null") == 0) return value;
    return p.choice({p.atomic(p.tag(call_tag::kNone, p.literal("None")) + close_json(close)), value});
}

// Gemma's values and elements: objects and arrays are written in the format's own way.
Peg ArgumentParser::nested(const ArgumentSchema& schema, const common_json& value, const common_json& anywhere,
                           const std::string& close) {
    // Equal references of two tools may lead to different schemas.
    const std::string own = value.dump(), key = own + anywhere.dump() + close + std::to_string(root_);
    const auto        known = nested_rules_.find(key);
    if (known != nested_rules_.end()) return p.ref(known->second);
    // Elements do not say which form of the arguments they belong to.
    std::set<std::string> different;
    const bool differs = format_.values == Values::elements && anywhere.dump() != own;
    for (size_t i = 0; differs && i < anywhere.at("anyOf").size(); ++i) {
        const common_json& one = anywhere.at("anyOf").at(i);
        if (has_nested(schema.other_types(one))) different.insert(one.dump());
    }
    if (different.size() > 1) ignored.merge(schema.named_alternatives());
    const std::string name = "v" + std::to_string(nested_rules_.size());
    nested_rules_[key]     = name;
    return p.rule(name, [&] {
        Peg        any         = p.choice();
        const bool gemma       = format_.values == Values::gemma, has_texts = !schema.texts(value).is_empty();
        bool       has_others = false;
        for (const common_json& one : schema.alternatives(value)) {
            const auto written = nested_one(schema, one, close);
            if (written) any |= *written;
            has_others = has_others || written;
        }
        if (!has_texts && !has_others) throw Error(ErrorCode::invalid_grammar, "A tool's schema has a part that permits no value.");
        static const std::string kQuote = "<|\"|>";
        if (has_texts && gemma) any |= p.literal(kQuote) + raw(schema, value, kQuote);
        if (has_texts && !gemma) {
            try {
                const std::set<std::string> types = schema.other_types(anywhere);
                if (types == schema.other_types(value)) {
                    any |= raw(schema, value, close, like(types));
                } else {
                    // Elsewhere it may be an array or an object. One without elements looks like an empty text.
                    const bool        has_elements = has_nested(types);
                    const std::string excluded = like(types) + (has_elements ? R"(|^\s*(\]<\]minimax\[>\[|$))" : "");
                    const Peg element = has_elements ? p.negate(p.space() + p.literal("]<]minimax[>[")) : p.eps();
                    any |= element + p.negate(json_of(types) + p.space() + p.literal(close)) + raw(schema, value, close, excluded);
                }
            } catch (const Error&) {
                if (!has_others) throw;
            }
        }
        return any;
    });
}

std::optional<Peg> ArgumentParser::nested_one(const ArgumentSchema& schema, const common_json& one, const std::string& close) {
    const bool        gemma = format_.values == Values::gemma;
    const std::string type  = one.is_object() ? one.value("type", std::string()) : "";
    const Peg         end   = gemma ? p.eps() : p.space() + p.literal(close);
    const bool        fixed = one.is_object() && (one.contains("enum") || one.contains("const"));
    if (type == "object" && !fixed) {
        const auto properties = schema.properties_of(one);
        if (!properties.is_possible) return std::nullopt;
        const Peg members = members_of(schema, properties, one);
        const Peg object  = gemma ? p.literal("{") + p.space() + members + p.space() + p.literal("}") : members;
        return p.tag(call_tag::kObject, object) + end;
    }
    if (type == "array" && !fixed) {
        const auto limits = schema.items_of(one);
        if (limits.min > limits.max) return std::nullopt;
        const std::string tag = "]<]minimax[>[", shut = tag + "</item>";
        Peg item = gemma ? p.eps() : p.literal(tag + "<item>");
        if (limits.max > 0) item = item + nested(schema, limits.whole, limits.whole, gemma ? "" : shut);
        if (limits.min > kMaxItems) ignored.insert("minItems");
        const Peg array = repeated(item, gemma ? ",~" : "~", limits.min, limits.max);
        return p.tag(call_tag::kArray, gemma ? p.literal("[") + p.space() + array + p.space() + p.literal("]") : array) + end;
    }
    const common_json values = schema.without_texts(one);
    if (!is_possible(values)) return std::nullopt;
    return p.atomic(p.gbnf(p.tag(call_tag::kJson, fixed ? p.json() : json_of({type})) + p.space(), json_rule(values)) +
                    (gemma ? p.eps() : p.literal(close)));
}

Peg ArgumentParser::repeated(const Peg& item, const std::string& separator, int64_t min, int64_t max) {
    const auto bounded = [](int64_t n) { return static_cast<int>(std::min(n, kMaxItems) - 1); };
    if (max == 0) return p.eps();
    const Peg more = item + p.repeat(text(separator) + item, min > 0 ? bounded(min) : 0, max < INT64_MAX ? bounded(max) : -1);
    return min > 0 ? more : p.optional(more);
}

Peg ArgumentParser::member(const ArgumentSchema& schema, const ArgumentSchema::Property& property) {
    std::string close = format_.member.substr(format_.member.find("$value") + 6);
    if (const size_t key = close.find("$key"); key != std::string::npos) close.replace(key, 4, property.name);
    return member_of(schema, p.literal(property.name), property.schema, property.anywhere.value_or(property.schema), close);
}

Peg ArgumentParser::member_of(const ArgumentSchema& schema, const Peg& key, const common_json& value, const common_json& anywhere,
                              const std::string& close) {
    const std::string before = format_.member.substr(0, format_.member.find("$value"));
    const auto        opened = [&](const char* is_string, const std::string& type) {
        return text(before, {{"key", [&] { return p.atomic(p.tag(call_tag::kKey, key)); }},
                             {"is_string", [&] { return p.literal(is_string); }},
                             {"type", [&] { return p.literal(type == "integer" ? "number" : type); }}});
    };
    if (format_.values == Values::json) {
        // The grammar permits JSON only; LFM2.5 also writes strings as Python does.
        const Peg quoted = p.tag(call_tag::kQuoted, p.literal("'") + p.string_content('\'') + p.literal("'"));
        const Peg either = p.atomic(quoted) | p.tag(call_tag::kJson, p.json());
        return p.tag(call_tag::kMember, opened("", "") + p.gbnf(either + p.space(), json_rule(schema.with_definitions(value))));
    }
    if (format_.values != Values::raw) return p.tag(call_tag::kMember, opened("", "") + nested(schema, value, anywhere, close));
    const bool names_type = before.find("$type") != std::string::npos;
    if (!names_type && before.find("$is_string") == std::string::npos) {
        return p.tag(call_tag::kMember, opened("", "") + raw_or_json(schema, value, anywhere, close));
    }
    Peg any = p.choice();
    if (!schema.texts(value).is_empty()) {
        any |= p.tag(call_tag::kMember, opened("true", "string") + string(schema, value, close));
    }
    const std::set<std::string> types = schema.other_types(value);
    if (names_type) {
        for (const common_json& one : schema.alternatives(value)) {
            const std::string type = one.is_object() ? one.value("type", std::string("object")) : "object";
            const common_json values = schema.without_texts(one);
            if (is_possible(values)) any |= p.tag(call_tag::kMember, opened("false", type) + json(values) + close_json(close));
        }
    } else if (!types.empty()) {
        any |= p.tag(call_tag::kMember, opened("false", "") + json(schema.without_texts(value)) + close_json(close));
    }
    return any;
}

}  // namespace chasqui
