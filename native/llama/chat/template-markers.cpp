#include "template-markers.h"

#include <jinja/lexer.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

namespace chasqui {

namespace {

using Token = jinja::token;

constexpr size_t kMinBytes = 3;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_whitespace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Other texts are names of fields, or phrases.
bool is_markup(const std::string& text) {
    return text.size() >= kMinBytes && text.find_first_of("<>[]|/") != std::string::npos;
}

// Whether the token is the first argument of a search, or the left operand of `in`.
bool is_searched(const std::vector<Token>& tokens, size_t i) {
    static const std::set<std::string_view> kSearches = {"split",      "rsplit",       "partition",   "rpartition",
                                                         "replace",    "removeprefix", "removesuffix", "find",
                                                         "startswith", "endswith"};
    const auto is_name = [&](size_t at, const char* name) {
        return at < tokens.size() && tokens[at].t == Token::identifier && tokens[at].value == name;
    };
    if (is_name(i + 1, "in") || (is_name(i + 1, "not") && is_name(i + 2, "in"))) return true;
    return i >= 2 && tokens[i - 1].t == Token::open_paren && kSearches.count(tokens[i - 2].value) > 0;
}

}  // namespace

std::vector<std::string> searched_markup(const std::string& template_source) {
    const std::vector<Token> tokens = jinja::lexer().tokenize(template_source).tokens;
    std::set<std::string>    found, names;
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (!is_searched(tokens, i)) continue;
        if (tokens[i].t == Token::string_literal) found.insert(tokens[i].value);
        if (tokens[i].t == Token::identifier) names.insert(tokens[i].value);
    }
    // Variables: {% set end = '</think>' %}
    for (size_t i = 2; i < tokens.size(); ++i) {
        const bool is_value = tokens[i].t == Token::string_literal && tokens[i - 1].t == Token::equals;
        if (is_value && names.count(tokens[i - 2].value) > 0) found.insert(tokens[i].value);
    }
    std::vector<std::string> markup;
    std::copy_if(found.begin(), found.end(), std::back_inserter(markup), is_markup);
    return markup;
}

bool is_switch(const std::string& text, size_t at, size_t size) {
    const std::string_view marker = std::string_view(text).substr(at, size);
    if (marker[0] != '/' || !std::all_of(marker.begin() + 1, marker.end(), is_word)) return false;
    size_t begin = at, end = at + size;
    while (begin > 0 && is_whitespace(text[begin - 1])) --begin;
    while (end < text.size() && is_whitespace(text[end])) ++end;
    const bool is_first = begin == 0, is_last = end == text.size();
    const bool is_apart = (is_first || begin < at) && (is_last || end > at + size);
    if (!is_apart || is_first || is_last) return is_apart;
    const auto breaks = [&](size_t from, size_t to) { return text.substr(from, to - from).find('\n') != std::string::npos; };
    return breaks(begin, at) && breaks(at + size, end);
}

}  // namespace chasqui
