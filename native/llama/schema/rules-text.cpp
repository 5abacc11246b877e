// Expressions, automata and lists of texts as rules.
#include "rules.h"

#include <algorithm>
#include <cstdio>

namespace chasqui::schema {

namespace {

constexpr size_t kMaxInline = 40;  // bytes of a set that is no rule of its own

std::string in_class(uint32_t point) {
    const bool is_plain = (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') || (point >= 'a' && point <= 'z');
    if (is_plain) return std::string(1, static_cast<char>(point));
    char text[16];
    std::snprintf(text, sizeof(text), point < 0x100 ? "\\x%02X" : point < 0x10000 ? "\\u%04X" : "\\U%08X", point);
    return text;
}

std::string class_of(const CodePoints& set) {
    std::string text = "[";
    for (const CodePointRange& range : set.ranges()) {
        text += in_class(range.first);
        if (range.last > range.first) text += (range.last > range.first + 1 ? "-" : "") + in_class(range.last);
    }
    return text + "]";
}

struct Escape {
    char     letter;
    uint32_t meaning;
};
constexpr Escape kEscapes[] = {{'"', '"'}, {'\\', '\\'}, {'b', 8}, {'f', 12}, {'n', 10}, {'r', 13}, {'t', 9}};

// Numbers of `n` hexadecimal digits. Their value plus `base` is in the set.
std::string hex_digits(const CodePoints& set, uint32_t base, unsigned n) {
    std::string              whole;
    std::vector<std::string> ways;
    const uint32_t           step = 1U << (4 * (n - 1));
    for (uint32_t digit = 0; digit < 16; ++digit) {
        const uint32_t   first = base + digit * step;
        const CodePoints part  = CodePoints(first, first + step - 1).intersect(set);
        if (part.empty()) continue;
        const std::string digits = digit < 10 ? std::string(1, static_cast<char>('0' + digit))
                                              : std::string{static_cast<char>('a' + digit - 10), static_cast<char>('A' + digit - 10)};
        const bool is_whole = part.ranges().size() == 1 && part.ranges()[0].first == first && part.ranges()[0].last == first + step - 1;
        if (is_whole) {
            whole += digits;
        } else {
            ways.push_back("[" + digits + "] " + hex_digits(set, first, n - 1));
        }
    }
    if (!whole.empty()) ways.push_back("[" + whole + "]" + (n > 1 ? " [0-9a-fA-F]{" + std::to_string(n - 1) + "}" : ""));
    std::string text;
    for (const std::string& way : ways) text += (text.empty() ? "" : " | ") + way;
    return ways.size() == 1 ? text : "(" + text + ")";
}

std::string joined(const std::vector<std::string>& ways) {
    std::string text;
    for (const std::string& way : ways) text += (text.empty() ? "" : " | ") + way;
    return text;
}

// The characters of a set that JSON writes without an escape.
CodePoints without_escapes(const CodePoints& set) {
    static const CodePoints plain = [] {
        CodePoints escaped(0, 0x1F);
        escaped.add('"', '"');
        escaped.add('\\', '\\');
        return escaped.complement();
    }();
    return set.intersect(plain);
}

}  // namespace

std::string Rules::characters(const CodePoints& set, Style style) {
    if (!style.is_json) return class_of(set);
    std::vector<std::string> ways;
    CodePoints               plain = without_escapes(set);
    if (style.all_escapes) plain = plain.intersect(CodePoints(0x7F, 0x7F).complement());
    if (!plain.empty()) ways.push_back(class_of(plain));
    std::string letters;
    CodePoints  others = set.intersect(style.all_escapes ? CodePoints(0, 0xFFFF) : CodePoints(0, 0x1F));
    for (const Escape& escape : kEscapes) {
        if (!set.contains(escape.meaning)) continue;
        letters += in_class(static_cast<uint32_t>(escape.letter));
        if (!style.all_escapes) others = others.intersect(CodePoints(escape.meaning, escape.meaning).complement());
    }
    if (style.all_escapes && set.contains('/')) letters += in_class('/');
    if (!letters.empty()) ways.push_back("[\\\\] [" + letters + "]");
    if (!others.empty() && style.all_escapes) ways.push_back("[\\\\] \"u\" " + hex_digits(others, 0, 4));
    if (!others.empty() && !style.all_escapes) ways.push_back("[\\\\] \"u00\" " + hex_digits(others, 0, 2));
    const CodePoints astral = CodePoints(0x10000, 0x10FFFF);
    if (style.all_escapes && set.intersect(astral).ranges().size() == 1 && set.contains(0x10000) && set.contains(0x10FFFF)) {
        ways.push_back(R"([\\] "u" [dD] [89abAB] [0-9a-fA-F]{2} [\\] "u" [dD] [c-fC-F] [0-9a-fA-F]{2})");
    }
    const std::string text = ways.size() == 1 ? ways[0] : "(" + joined(ways) + ")";
    return text.size() > kMaxInline ? add("set", joined(ways)) : text;
}

std::string Rules::expression(const Regex& regex, Style style) {
    switch (regex.kind) {
        case Regex::Kind::set: return characters(regex.set, style);
        case Regex::Kind::choice: {
            std::vector<std::string> ways;
            for (const RegexPtr& part : regex.parts) ways.push_back(expression(*part, style));
            return "(" + joined(ways) + ")";
        }
        case Regex::Kind::repeat: {
            const std::string part = "(" + expression(*regex.parts[0], style) + ")";
            if (regex.max == Regex::kUnbounded) return part + (regex.min == 0 ? "*" : regex.min == 1 ? "+" : "{" + std::to_string(regex.min) + ",}");
            if (regex.max == 0) return "\"\"";
            if (regex.min == 0 && regex.max == 1) return part + "?";
            return part + "{" + std::to_string(regex.min) + "," + std::to_string(regex.max) + "}";
        }
        default: break;
    }
    // A sequence; characters that stand alone make one literal.
    std::string result, text;
    const auto  flush = [&] {
        if (!text.empty()) result += (result.empty() ? "" : " ") + literal(text);
        text.clear();
    };
    for (const RegexPtr& part : regex.parts) {
        const bool is_character = part->kind == Regex::Kind::set && part->set.is_single() &&
                                  (!style.is_json || !without_escapes(part->set).empty()) && part->set.ranges()[0].first >= 0x20;
        if (is_character) {
            append_utf8(text, part->set.ranges()[0].first);
            continue;
        }
        flush();
        result += (result.empty() ? "" : " ") + expression(*part, style);
    }
    flush();
    return result.empty() ? "\"\"" : result;
}

std::string Rules::automaton(const Automaton& automaton, Style style, const std::string& end) {
    const auto& states = automaton.states;
    struct Way {
        CodePoints on;
        int        to;
    };
    std::vector<std::vector<Way>> ways(states.size());
    std::vector<int>              n_sources(states.size(), 0);
    for (size_t i = 0; i < states.size(); ++i) {
        std::map<int, size_t> by_target;
        for (const Automaton::Edge& edge : states[i].edges) {
            const auto [found, is_new] = by_target.emplace(edge.to, ways[i].size());
            if (is_new) ways[i].push_back({{}, edge.to});
            ways[i][found->second].on.add(edge.on.first, edge.on.last);
        }
        for (const Way& way : ways[i]) ++n_sources[way.to];
    }
    // States in a row are written in the rule of the first.
    const auto is_inline = [&](int i) { return i > 0 && n_sources[i] == 1 && (states[i].accepts ? 1 : 0) + ways[i].size() == 1; };
    std::vector<std::string> names(states.size());
    for (size_t i = 0; i < states.size(); ++i) {
        const bool is_link = is_inline(static_cast<int>(i)) && !(ways[i].size() == 1 && ways[i][0].to == static_cast<int>(i));
        if (!is_link) names[i] = reserve("");
    }
    for (size_t i = 0; i < states.size(); ++i) {
        if (names[i].empty()) continue;
        std::vector<std::string> texts;
        if (states[i].accepts) texts.push_back(end);
        for (const Way& way : ways[i]) {
            std::string text = characters(way.on, style);
            int         at   = way.to;
            for (; names[at].empty() && !ways[at].empty(); at = ways[at][0].to) {
                text += " " + characters(ways[at][0].on, style);
            }
            texts.push_back(text + " " + (names[at].empty() ? end : names[at]));
        }
        set(names[i], joined(texts));
    }
    return names[0];
}

std::string Rules::json_string(const Automaton& each, bool all_escapes) {
    return "\"\\\"\" " + automaton(each, {true, all_escapes}, "\"\\\"\"");
}

std::string Rules::json_string(const Regex& regex) { return "\"\\\"\" " + expression(regex, {true, false}) + " \"\\\"\""; }

std::string Rules::plain_text(const Regex& regex) { return expression(regex, {false, false}); }

std::string Rules::plain_text(const Automaton& each) { return automaton(each, {false, false}, "\"\""); }

// Texts that begin alike share the rule of their beginning, so a grammar has few ways to go on at each character.
std::string Rules::one_of(std::vector<std::string> texts) {
    std::vector<std::vector<uint32_t>> points;
    for (const std::string& text : texts) points.push_back(code_points_of(text));
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return branches(points, 0, points.size(), 0, 0);
}

std::string Rules::branches(const std::vector<std::vector<uint32_t>>& texts, size_t first, size_t last, size_t at, unsigned depth) {
    constexpr unsigned       kMaxGroups = 16, kMaxDepth = 256;
    std::vector<std::string> ways;
    for (; depth > kMaxDepth && first < last; ++first) {
        std::string rest;
        for (size_t i = at; i < texts[first].size(); ++i) append_utf8(rest, texts[first][i]);
        ways.push_back(literal(rest));
    }
    while (first < last) {
        if (texts[first].size() == at) {
            ways.emplace_back("\"\"");
            ++first;
            continue;
        }
        size_t next = first + 1;
        while (next < last && texts[next][at] == texts[first][at]) ++next;
        // They are sorted: what the first and the last share, all do.
        size_t shared = at;
        while (shared < std::min(texts[first].size(), texts[next - 1].size()) && texts[first][shared] == texts[next - 1][shared]) ++shared;
        std::string beginning;
        for (size_t i = at; i < shared; ++i) append_utf8(beginning, texts[first][i]);
        std::string way = literal(beginning);
        if (next - first > 1) {
            const std::string rest = branches(texts, first, next, shared, depth + 1);
            way += " " + (depth % kMaxGroups == kMaxGroups - 1 ? add("", rest) : "(" + rest + ")");
        }
        ways.push_back(std::move(way));
        first = next;
    }
    return joined(ways);
}

}  // namespace chasqui::schema
