#include "value-rules.h"

#include <algorithm>

namespace chasqui::schema {

namespace {

const std::string kComma = "\",\" space ";

constexpr const char* kImpossible = "-";  // of a list that needs more members than there are
constexpr size_t      kMaxCounted = 20'000;  // members times the counts that they are tracked for

std::string member(const std::string& key, const std::string& value) { return key + " space \":\" space " + value; }

}  // namespace

// A list is a chain of rules. `on(i, n)`: n members were written, and the optional member i or a later one follows; `rest(i, n)`:
// a comma and one of them, or the end. The comma stands in a rule of its own, so there is one way to read it.
std::string ValueRules::list_of(const Members& members) {
    const size_t n_optional = members.optional.size();
    const size_t n_required = members.required.size();
    const size_t need       = members.min > n_required ? members.min - n_required : 0;
    const size_t room       = members.max == kUnlimited ? kUnlimited : members.max - std::min(members.max, n_required);
    // Counts above this are alike.
    const size_t most = room != kUnlimited ? room : std::max(need, size_t{1});
    if (n_optional * most > kMaxCounted) throw std::runtime_error("it counts too many members");
    const bool has_others = !members.others.empty();
    // Two other members may be the same one: only the first counts.
    const auto can_write = [&](size_t i, size_t n) {
        return (room == kUnlimited || n < room) && (i < n_optional || has_others) && n + (n_optional - i) + (has_others ? 1 : 0) >= need;
    };
    std::vector<std::string> on(most + 1), rest(most + 1);
    const auto               end = [&](size_t n) -> std::string {
        const bool is_enough = n >= need;
        if (on[n].empty()) return is_enough ? "" : kImpossible;
        return is_enough ? "( " + kComma + on[n] + " )?" : kComma + on[n];
    };
    for (size_t n = 0; n <= most; ++n) {
        if (has_others && can_write(n_optional, n)) {
            const std::string more = "( " + kComma + members.others + " )";
            on[n] = members.others + " " + (room == kUnlimited ? more + "*" : more + "{0," + std::to_string(room - n - 1) + "}");
        }
        rest[n] = end(n);
    }
    for (size_t i = n_optional; i-- > 0;) {
        std::vector<std::string> next_on(most + 1), next_rest(most + 1);
        for (size_t n = 0; n <= most; ++n) {
            const size_t after = std::min(n + 1, most);
            std::string  text;
            if (can_write(i, n) && rest[after] != kImpossible && !(n == most && room != kUnlimited)) {
                text = members.optional[i] + (rest[after].empty() ? "" : " " + rest[after]);
            }
            if (!on[n].empty()) text += (text.empty() ? "" : " | ") + on[n];
            next_on[n] = text.empty() || i == 0 ? text : rules_.add("on", text);
        }
        on = next_on;
        for (size_t n = 0; n <= most; ++n) {
            const std::string text = end(n);
            next_rest[n]           = text.empty() || text == kImpossible || i == 0 ? text : rules_.add("rest", text);
        }
        rest = next_rest;
    }
    std::string text;
    for (const std::string& each : members.required) text += (text.empty() ? "" : " " + kComma) + each;
    if (n_required > 0) {
        if (rest[0] == kImpossible) return kImpossible;
        const std::string inner = rules_.add("on", on[0].empty() ? "\"\"" : on[0]);
        if (on[0].empty()) return text;
        return text + (need == 0 ? " ( " + kComma + inner + " )?" : " " + kComma + inner);
    }
    if (on[0].empty()) return need == 0 ? "" : kImpossible;
    return need == 0 ? "( " + on[0] + " )?" : "( " + on[0] + " )";
}

std::string ValueRules::object(const Case& each, const std::string& hint) {
    const ObjectLimits&      limits = each.object;
    std::vector<std::string> known;
    bool                     is_open = true, is_opened = false;
    std::unordered_set<std::string>       seen;
    const std::unordered_set<std::string> required(limits.required.begin(), limits.required.end());
    const auto                            add = [&](const std::string& name) {
        if (seen.insert(name).second) known.push_back(name);
    };
    for (const auto& layer : limits.layers) {
        for (const auto& [name, node] : layer->properties) add(name);
        if (layer->evaluates && (layer->has_properties || !layer->patterns.empty())) is_open = false;
        is_opened = is_opened || layer->has_additional;
    }
    for (const std::string& name : limits.required) add(name);
    NodeId names = kAnything;
    for (const NodeId node : limits.names) names = schemas_.both(names, node);
    if (names != kAnything) {
        for (const Case& name : schemas_.shape_of(names)) {
            if (name.literal != nullptr && name.type == Type::string) add(name.literal->get<std::string>());
        }
    }
    Members members;
    members.min = limits.min;
    members.max = limits.max;
    for (const std::string& name : known) {
        const NodeId node = schemas_.property(limits, name);
        const bool   must = required.count(name) > 0;
        if (schemas_.is_empty(node)) {
            if (must) return "";
            continue;
        }
        std::string text = member(literal(common_json::make(name).dump()), name_of(node, name));
        if (!must) text = rules_.add(name + "-kv", text);
        (must ? members.required : members.optional).push_back(std::move(text));
    }
    const bool needs_others = limits.min > members.required.size() + members.optional.size();
    members.others          = other_members(limits, known, is_open || is_opened || needs_others, hint);
    if (members.max < members.required.size()) return "";
    std::string list = list_of(members);
    if (list == kImpossible) {
        // More names are needed than it has, and others cannot be told apart.
        if (limits.counted.empty()) return "";
        schemas_.report(limits.counted);
        members.min = 0;
        list        = list_of(members);
    }
    return "\"{\" space " + list + (list.empty() ? "" : " space ") + "\"}\"";
}

// A rule for members with other names than the known ones. Empty if there are none.
std::string ValueRules::other_members(const ObjectLimits& limits, const std::vector<std::string>& known, bool is_open, const std::string& hint) {
    struct Matching {
        const NameLayer* layer;
        PatternPtr       pattern;
        NodeId           node;
    };
    std::vector<Matching> patterns;
    for (const auto& layer : limits.layers) {
        for (const auto& [pattern, node] : layer->patterns) {
            if (schemas_.automaton_of(pattern) != nullptr) patterns.push_back({layer.get(), pattern, node});
        }
    }
    // A choice is the set of patterns that a name matches. With many patterns, a name matches at most one.
    constexpr size_t         kMaxChoices = 4;
    std::vector<std::vector<size_t>> choices = {{}};
    for (size_t i = 0; i < patterns.size(); ++i) {
        if (patterns.size() > kMaxChoices) {
            choices.push_back({i});
            continue;
        }
        const size_t n = choices.size();
        for (size_t k = 0; k < n; ++k) {
            choices.push_back(choices[k]);
            choices.back().push_back(i);
        }
    }
    NodeId names = kAnything;
    for (const NodeId node : limits.names) names = schemas_.both(names, node);
    std::vector<std::optional<Automaton>> name_languages;
    if (names == kAnything) {
        name_languages.emplace_back();
    } else {
        for (const Case& each : schemas_.shape_of(names)) {
            if (each.type != Type::string || each.literal != nullptr || !schemas_.is_possible(each)) continue;
            const StringLimits& limit = each.string;
            std::optional<Automaton> language = schemas_.language_of(each);
            if (!language && !limit.accepted.empty()) {
                if (const Automaton* automaton = schemas_.automaton_of(limit.accepted[0])) language = *automaton;
            }
            if (!language) language = of_length(limit.min, limit.max);
            name_languages.push_back(std::move(language));
        }
    }
    const Automaton          unknown = none_of(known);
    std::vector<std::string> ways;
    for (const std::vector<size_t>& choice : choices) {
        if (choice.empty() && !is_open) continue;
        NodeId node = kAnything;
        for (const auto& layer : limits.layers) {
            bool matches = false;
            for (const size_t i : choice) {
                if (patterns[i].layer != layer.get()) continue;
                matches = true;
                node    = schemas_.both(node, patterns[i].node);
            }
            if (!matches) node = schemas_.both(node, layer->additional);
        }
        if (schemas_.is_empty(node)) continue;
        for (const std::optional<Automaton>& names_of_case : name_languages) {
            const std::string value = name_of(node, hint + "-other");
            if (known.empty() && patterns.empty() && !names_of_case) {
                ways.push_back(member(rules_.primitive("string"), value));
                continue;
            }
            try {
                Automaton language = names_of_case ? combine(unknown, *names_of_case, Combine::both, schemas_.budget()) : unknown;
                for (size_t i = 0; i < patterns.size(); ++i) {
                    const bool       is_chosen = std::find(choice.begin(), choice.end(), i) != choice.end();
                    const Automaton* automaton = schemas_.automaton_of(patterns[i].pattern);
                    language = combine(language, *automaton, is_chosen ? Combine::both : Combine::only_first, schemas_.budget());
                }
                if (language.is_empty()) continue;
                const bool is_plain = patterns.empty() && !names_of_case;
                ways.push_back(member(rules_.add("key", rules_.json_string(language, is_plain)), value));
            } catch (const UnsupportedPattern&) {
                for (const Matching& each : patterns) {
                    for (const std::string& place : each.pattern->places) schemas_.report(place);
                }
            }
        }
    }
    std::string text;
    for (const std::string& way : ways) text += (text.empty() ? "" : " | ") + way;
    return text.empty() ? text : rules_.add("other", text);
}

}  // namespace chasqui::schema
