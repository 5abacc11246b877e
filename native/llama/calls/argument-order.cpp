#include "argument-parser.h"

#include "presence.h"

#include <algorithm>

namespace chasqui {

namespace {

using Peg    = common_peg_parser;
using Values = CallFormat::Values;

// So many members may come in any order; more come in the order of the schema.
constexpr size_t kMaxPermuted = 5;
// With more members, others cannot be told from them.
constexpr size_t kMaxNames = 200;

}  // namespace

// Each member once; those that are not required may be missing.
Peg ArgumentParser::members_of(const ArgumentSchema& schema, const ArgumentSchema::Properties& all, const common_json& object) {
    const Properties& properties = all.list;
    Members           members{"m" + std::to_string(n_members_++), {}, {}, others(schema, all, object)};
    for (size_t i = 0; i < properties.size(); ++i) {
        members.each.push_back(p.rule(members.name + "-" + std::to_string(i), member(schema, properties[i])));
    }
    if (properties.size() <= kMaxPermuted) {
        members.ends = ends_of(all);
        return permuted(members, (1u << properties.size()) - 1, false);
    }
    report(all.conditions);
    return in_order(members, properties, 0, false);
}

// A member without a name in the schema.
std::optional<Peg> ArgumentParser::others(const ArgumentSchema& schema, const ArgumentSchema::Properties& properties,
                                          const common_json& object) {
    const std::string close       = format_.member.substr(format_.member.find("$value") + 6);
    const bool        is_writable = close.find("$key") == std::string::npos && properties.list.size() <= kMaxNames;
    std::optional<common_json> value = schema.others_of(object, properties, is_writable);
    const bool is_any = format_.values == Values::gemma && properties.list.empty() && properties.conditions.empty() &&
                        !ArgumentSchema::has_limits(object);
    if (is_any) value = common_json::make(true);
    if (!value) return std::nullopt;
    std::vector<std::string> names;
    for (const auto& property : properties.list) names.push_back(property.name);
    names.insert(names.end(), properties.never.begin(), properties.never.end());
    const schema::Automaton any = schema::automaton_of(*schema::parse_pattern("^[A-Za-z0-9_-]{1,64}$"), budget_);
    const schema::Automaton free = schema::combine(any, raw_texts::of(names, budget_), schema::Combine::only_first, budget_);
    const Peg key = p.gbnf(p.chars("[A-Za-z0-9_-]", 1, 64), text_rule(free));
    return p.rule("m" + std::to_string(n_members_++) + "-other", member_of(schema, key, *value, *value, close));
}

void ArgumentParser::report(const std::vector<ArgumentSchema::Condition>& conditions) {
    for (const auto& condition : conditions) ignored.insert(condition.name);
}

// Conditions that no set of members fulfills are reported.
ArgumentParser::Ends ArgumentParser::ends_of(const ArgumentSchema::Properties& all) {
    const size_t n = size_t{1} << all.list.size();
    Ends         ends{std::vector<bool>(n), std::vector<bool>(n)};
    const auto   permits = [&](size_t left, bool conditionally) {
        std::set<std::string> members;
        for (size_t i = 0; i < all.list.size(); ++i) {
            if ((left & (size_t{1} << i)) == 0) {
                members.insert(all.list[i].name);
            } else if (all.list[i].is_required) {
                return false;
            }
        }
        return !conditionally || std::all_of(all.conditions.begin(), all.conditions.end(), [&](const auto& condition) {
            return permits_members(condition.schema, members);
        });
    };
    for (const bool conditionally : {true, false}) {
        for (size_t left = 0; left < n; ++left) {
            ends.now[left] = ends.later[left] = permits(left, conditionally);
            for (size_t one = 1; one < n; one *= 2) {
                if ((left & one) != 0 && ends.later[left - one]) ends.later[left] = true;
            }
        }
        if (ends.later[n - 1]) break;
        report(all.conditions);
    }
    return ends;
}

Peg ArgumentParser::separated(const Peg& member, bool follows) {
    return follows ? text(format_.member_separator) + member : member;
}

// The end of an object.
Peg ArgumentParser::rest(const Members& members, bool follows) {
    if (!members.others) return nothing();
    const Peg more = p.zero_or_more(separated(*members.others, true));
    return follows ? more : p.optional(*members.others + more);
}

Peg ArgumentParser::permuted(const Members& members, uint32_t left, bool follows) {
    if (left == 0 && !members.others) return p.eps();
    return p.rule(members.name + "-left-" + std::to_string(left), [&] {
        Peg any = p.choice();
        for (size_t i = 0; i < members.each.size(); ++i) {
            if ((left & (1u << i)) == 0 || !members.ends.later[left & ~(1u << i)]) continue;
            any |= separated(members.each[i], follows) + permuted(members, left & ~(1u << i), true);
        }
        if (members.ends.now[left]) any |= rest(members, follows);
        return any;
    });
}

Peg ArgumentParser::in_order(const Members& members, const Properties& properties, size_t i, bool follows) {
    if (i == properties.size()) return rest(members, follows);
    return p.rule(members.name + "-from-" + std::to_string(i) + (follows ? "-more" : ""), [&] {
        const Peg with = separated(members.each[i], follows) + in_order(members, properties, i + 1, true);
        return properties[i].is_required ? with : p.choice({with, in_order(members, properties, i + 1, follows)});
    });
}

}  // namespace chasqui
