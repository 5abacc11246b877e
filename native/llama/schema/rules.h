// Thread: any, one at a time.
#pragma once

#include "patterns/automaton.h"

#include <map>
#include <string>
#include <unordered_map>

namespace chasqui::schema {

// The rules of a GBNF grammar. Names of rules for schemas begin with `s` and a number, so they are unique whatever the names
// of properties and tools are.
class Rules {
public:
    // Adds a rule under a name that the caller has chosen.
    void set(const std::string& name, const std::string& body);
    // Adds a rule under a name of its own and returns it. Rules with the same body are one. `hint` is for readers.
    std::string add(const std::string& hint, const std::string& body);
    // Returns a name. Its rule is set later.
    std::string reserve(const std::string& hint);

    // The rule of any value of a type, or of what it is made of: char, string, number, integer, boolean, null, array, object,
    // value.
    std::string primitive(const std::string& name);

    // The rule of a JSON string with its quotes. The automaton accepts its characters. With `all_escapes` a character
    // may be written as any of its escapes, else as one only if it must be.
    std::string json_string(const Automaton& automaton, bool all_escapes);
    // The same of an expression.
    std::string json_string(const Regex& regex);
    // The text of a regular expression or an automaton as it is.
    std::string plain_text(const Regex& regex);
    std::string plain_text(const Automaton& automaton);
    std::string one_of(std::vector<std::string> texts);

    std::string grammar() const;

private:
    struct Style {
        bool is_json = true, all_escapes = false;
    };

    std::string expression(const Regex& regex, Style style);
    std::string characters(const CodePoints& set, Style style);
    std::string automaton(const Automaton& automaton, Style style, const std::string& end);
    std::string branches(const std::vector<std::vector<uint32_t>>& texts, size_t first, size_t last, size_t at, unsigned depth);

    std::map<std::string, std::string>           rules_;
    std::unordered_map<std::string, std::string> by_body_;
    size_t                                       n_bytes_ = 0, n_names_ = 0;
};

std::string literal(const std::string& text);

}  // namespace chasqui::schema
