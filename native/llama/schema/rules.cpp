#include "rules.h"

#include <stdexcept>

namespace chasqui::schema {

namespace {

constexpr size_t kMaxGrammarBytes = size_t{4} << 20;
constexpr size_t kMaxHint         = 24;

struct Primitive {
    const char* body;
    std::vector<const char*> needs;
};

// Half of a surrogate pair is no character, and both together are one.
const std::map<std::string, Primitive>& primitives() {
    static const std::map<std::string, Primitive> all = {
        {"boolean", {R"("true" | "false")", {}}},
        {"null", {R"("null")", {}}},
        {"integer", {R"("-"? ([0] | [1-9] [0-9]{0,15}))", {}}},
        {"number", {R"(s-integer ("." [0-9]{1,16})? ([eE] [-+]? ([0-9] | [1-9] [0-9] | [1-2] [0-8] [0-9]))?)", {"integer"}}},
        {"escape",
         {R"([\\] (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))"
          R"( | "u" [dD] [89abAB] [0-9a-fA-F]{2} [\\] "u" [dD] [c-fC-F] [0-9a-fA-F]{2}))",
          {}}},
        {"char", {R"([^"\\\x7F\x00-\x1F] | s-escape)", {"escape"}}},
        {"string", {R"("\"" s-char* "\"")", {"char"}}},
        {"array", {R"("[" space ( s-value ("," space s-value)* )? space "]")", {"value"}}},
        {"object", {R"("{" space ( s-string ":" space s-value ("," space s-string ":" space s-value)* )? space "}")", {"string", "value"}}},
        {"value", {"s-object | s-array | s-string | s-number | s-boolean | s-null", {"object", "array", "string", "number", "boolean", "null"}}},
    };
    return all;
}

}  // namespace

std::string literal(const std::string& text) {
    std::string escaped = "\"";
    for (const char c : text) {
        switch (c) {
            case '\n': escaped += "\\n"; break;
            case '\r': escaped += "\\r"; break;
            case '"': escaped += "\\\""; break;
            case '\\': escaped += "\\\\"; break;
            default: escaped += c;
        }
    }
    return escaped + "\"";
}

void Rules::set(const std::string& name, const std::string& body) {
    n_bytes_ += name.size() + body.size();
    if (n_bytes_ > kMaxGrammarBytes) {
        throw std::runtime_error("the grammar would be longer than " + std::to_string(kMaxGrammarBytes) + " bytes");
    }
    rules_[name] = body;
}

std::string Rules::add(const std::string& hint, const std::string& body) {
    const auto found = by_body_.find(body);
    if (found != by_body_.end()) return found->second;
    const std::string name = reserve(hint);
    set(name, body);
    by_body_.emplace(body, name);
    return name;
}

std::string Rules::reserve(const std::string& hint) {
    std::string name = "s" + std::to_string(n_names_++);
    std::string readable;
    for (const char c : hint.substr(0, kMaxHint)) {
        const bool is_valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (is_valid || (!readable.empty() && readable.back() != '-')) readable += is_valid ? c : '-';
    }
    return readable.empty() ? name : name + "-" + readable;
}

std::string Rules::primitive(const std::string& name) {
    const Primitive&  rule = primitives().at(name);
    const std::string full = "s-" + name;
    if (rules_.find(full) != rules_.end()) return full;
    set(full, rule.body);
    for (const char* each : rule.needs) primitive(each);
    return full;
}

std::string Rules::grammar() const {
    std::string text;
    for (const auto& [name, body] : rules_) text += name + " ::= " + body + "\n";
    // As upstream: at most a few blanks, so that a model cannot write them without end.
    text += "space ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}\n";
    return text;
}

}  // namespace chasqui::schema
