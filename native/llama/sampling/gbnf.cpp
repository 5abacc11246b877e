#include "gbnf.h"

#include <json-schema-to-grammar.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace chasqui {

namespace {

struct Span {
    size_t begin, end;
};

// The root rule, up to the end of its line.
Span root_of(const std::string& gbnf) {
    const size_t begin = gbnf.find("root ::= ");
    if (begin == std::string::npos || (begin > 0 && gbnf[begin - 1] != '\n')) return {0, 0};
    return {begin, std::min(gbnf.find('\n', begin), gbnf.size())};
}

bool begins_with(const std::string& text, size_t at, std::string_view prefix) {
    return text.compare(at, prefix.size(), prefix) == 0;
}

// The text that replaces a part of the root rule, and the end of that part. No replacement if the part is empty.
struct Replacement {
    size_t      end;
    std::string text;
};

// Replaces parts of the root rule. Not with std::regex, which recurses for each character: the rule may contain the
// long literals of a schema.
template <typename Find>
std::string with_root(const std::string& gbnf, const Find& find) {
    const Span  root   = root_of(gbnf);
    std::string result = gbnf.substr(0, root.begin);
    for (size_t at = root.begin; at < root.end;) {
        const Replacement found = find(at);
        if (found.end == at) {
            result += gbnf[at++];
        } else {
            result += found.text;
            at = found.end;
        }
    }
    return result + gbnf.substr(root.end);
}

void replace_first(std::string& text, std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
}

// The end of the literal, character set, repetition or token that begins at `at`; `at` itself if there is none.
size_t skip_enclosed(const std::string& gbnf, size_t at) {
    static constexpr std::string_view kOpening = "\"[{<", kClosing = "\"]}>";
    const size_t                      kind = kOpening.find(gbnf[at]);
    if (kind == std::string_view::npos) return at;
    for (++at; at < gbnf.size() && gbnf[at] != kClosing[kind]; ++at) {
        if (gbnf[at] == '\\') ++at;
    }
    return std::min(at + 1, gbnf.size());
}

bool belongs_to_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

}  // namespace

std::string with_prefixed_names(const std::string& gbnf, std::string_view prefix) {
    std::string result;
    for (size_t at = 0; at < gbnf.size();) {
        size_t end = skip_enclosed(gbnf, at);
        if (end == at && belongs_to_name(gbnf[at])) {
            result += prefix;
            while (end < gbnf.size() && belongs_to_name(gbnf[end])) ++end;
        } else if (end == at) {
            ++end;
        }
        result.append(gbnf, at, end - at);
        at = end;
    }
    return result;
}

std::string with_closed_reasoning(const std::string& gbnf) {
    static constexpr std::string_view kOrNothing = " | )";
    return with_root(gbnf, [&](size_t at) -> Replacement {
        if (!begins_with(gbnf, at, "(\"")) return {at, {}};
        const size_t quote = gbnf.find('"', at + 2);
        if (quote == std::string::npos || quote == at + 2) return {at, {}};
        if (!begins_with(gbnf, quote + 1, kOrNothing)) return {at, {}};
        return {quote + 1 + kOrNothing.size(), gbnf.substr(at + 1, quote - at)};
    });
}

std::string without_fence(std::string gbnf) {
    replace_first(gbnf, "\"```json\" space ", "");
    replace_first(gbnf, " space \"```\"", "");
    return gbnf;
}

std::string after_text(const std::string& text, const std::string& gbnf) {
    return "root ::= " + gbnf_format_literal(text) + " b-root\n" + with_prefixed_names(gbnf, "b-");
}

std::string either_of(const std::string& one, const std::string& other) {
    return "root ::= a-root | b-root\n" + with_prefixed_names(one, "a-") + "\n" + with_prefixed_names(other, "b-");
}

}  // namespace chasqui
