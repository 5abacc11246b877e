// Thread: any.
#pragma once

#include "argument-schema.h"
#include "call-format.h"

#include <chat-peg-parser.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace chasqui {

// Builds the parser of a call's arguments, and the grammar that it reads (call-parser.h).
class ArgumentParser {
public:
    using Peg          = common_peg_parser;
    using Placeholders = std::map<std::string, std::function<Peg()>>;

    ArgumentParser(common_chat_peg_builder& peg, const CallFormat& format) : p(peg), format_(format) {}

    // GBNF needs a text for it in a choice.
    Peg nothing();
    // A text of a CallFormat.
    Peg text(const std::string& pattern, const Placeholders& placeholders = {});
    Peg json(const common_json& schema);
    Peg members(const ArgumentSchema& schema, const ArgumentSchema::Alternative& form) {
        root_ = roots_.emplace(schema.root().dump(), roots_.size()).first->second;
        return members_of(schema, form.properties, form.schema);
    }

    std::string           rules;    // GBNF that the parser's own grammar refers to
    std::set<std::string> ignored;  // keywords of schemas that are not enforced

private:
    using Properties = std::vector<ArgumentSchema::Property>;
    // By the set of members that are left: whether the object may end, and whether it still can with some of them.
    struct Ends {
        std::vector<bool> now, later;
    };

    // The members of an object. `others`: those without a name in its schema.
    struct Members {
        std::string        name;  // of the rules
        std::vector<Peg>   each;
        Ends               ends;
        std::optional<Peg> others;
    };

    std::string json_rule(const common_json& schema);
    bool        is_possible(const common_json& schema);
    std::string text_rule(const schema::Automaton& texts);
    Peg raw(const ArgumentSchema& schema, const common_json& value, const std::string& close, const std::string& excluded = "");
    Peg string(const ArgumentSchema& schema, const common_json& value, const std::string& close, const std::string& excluded = "");
    Peg json_of(const std::set<std::string>& types);
    Peg close_json(const std::string& close);
    Peg raw_or_json(const ArgumentSchema& schema, const common_json& value, const common_json& anywhere, const std::string& close);
    Peg nested(const ArgumentSchema& schema, const common_json& value, const common_json& anywhere, const std::string& close);
    std::optional<Peg> nested_one(const ArgumentSchema& schema, const common_json& one, const std::string& close);
    Peg repeated(const Peg& item, const std::string& separator, int64_t min, int64_t max);
    Peg none_or(const std::set<std::string>& types, const std::string& close, const Peg& value);
    Peg member(const ArgumentSchema& schema, const ArgumentSchema::Property& property);
    Peg member_of(const ArgumentSchema& schema, const Peg& key, const common_json& value, const common_json& anywhere,
                  const std::string& close);
    std::optional<Peg> others(const ArgumentSchema& schema, const ArgumentSchema::Properties& properties, const common_json& object);
    Peg rest(const Members& members, bool follows);
    Peg members_of(const ArgumentSchema& schema, const ArgumentSchema::Properties& properties, const common_json& object);
    void report(const std::vector<ArgumentSchema::Condition>& conditions);
    Ends ends_of(const ArgumentSchema::Properties& properties);
    Peg separated(const Peg& member, bool follows);
    Peg permuted(const Members& members, uint32_t left, bool follows);
    Peg in_order(const Members& members, const Properties& properties, size_t i, bool follows);

    common_chat_peg_builder& p;
    const CallFormat&        format_;

    std::map<std::string, std::string> json_rules_, text_rules_, nested_rules_;
    std::map<std::string, size_t>      roots_;     // of the schemas so far
    size_t                             root_ = 0;  // of the current one
    size_t                             n_members_ = 0;
    schema::Budget                     budget_;
};

}  // namespace chasqui
