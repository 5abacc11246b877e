#include "template-markers.h"

#include "template-constants.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

namespace chasqui {

namespace {

using Token  = jinja::token;
using Tokens = TemplateConstants::Tokens;

constexpr size_t kMinBytes = 3, kMaxBytes = 64;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_whitespace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Other texts are names of fields, or phrases.
bool is_markup(const std::string& text) {
    return text.size() >= kMinBytes && text.size() <= kMaxBytes && text.find_first_of("<>[]|/") != std::string::npos;
}

bool is_one_of(const Token& token, const std::set<std::string_view>& names) {
    return token.t == Token::identifier && names.count(token.value) > 0;
}

// Whether an operand of `in` or `==` ends at this token.
bool separates(const Token& token) {
    static const std::set<std::string_view> kWords = {"if", "elif", "else", "and", "or", "not", "in", "is", "for", "set"};
    return token.t == Token::open_statement || token.t == Token::open_expression || token.t == Token::close_statement ||
           token.t == Token::close_expression || token.t == Token::comma || token.t == Token::equals ||
           token.t == Token::comparison_binary_operator || is_one_of(token, kWords);
}

bool is_bracket(const Token& token, const char* brackets) {
    static const std::set<Token::type> kOpen  = {Token::open_paren, Token::open_square_bracket, Token::open_curly_bracket};
    static const std::set<Token::type> kClose = {Token::close_paren, Token::close_square_bracket, Token::close_curly_bracket};
    return (*brackets == '(' ? kOpen : kClose).count(token.t) > 0;
}

// The operand before or after the operator at `at`.
Tokens operand(const Tokens& tokens, size_t at, bool is_left) {
    const char* const inwards = is_left ? ")" : "(";
    const char* const outwards = is_left ? "(" : ")";
    Tokens            found;
    for (int depth = 0; is_left ? at-- > 0 : ++at < tokens.size();) {
        if (depth == 0 && (separates(tokens[at]) || is_bracket(tokens[at], outwards))) break;
        depth += is_bracket(tokens[at], inwards) ? 1 : is_bracket(tokens[at], outwards) ? -1 : 0;
        found.push_back(tokens[at]);
    }
    if (is_left) std::reverse(found.begin(), found.end());
    return found;
}

// The expressions that a template looks for: the first arguments of searches, the left operands of `in`, and both operands of
// comparisons, which may be with a part of a text.
std::vector<Tokens> searched_expressions(const Tokens& tokens) {
    static const std::set<std::string_view> kSearches = {"split",      "rsplit",       "partition",   "rpartition",
                                                         "replace",    "removeprefix", "removesuffix", "find",
                                                         "rfind",      "index",        "count",       "startswith",
                                                         "endswith"};
    std::vector<Tokens> found;
    for (size_t i = 1; i + 1 < tokens.size(); ++i) {
        if (is_one_of(tokens[i], kSearches) && tokens[i + 1].t == Token::open_paren) {
            const size_t begin = i + 2, end = TemplateConstants::end_of(tokens, begin);
            found.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end));
        } else if (is_one_of(tokens[i], {"in"})) {
            found.push_back(operand(tokens, is_one_of(tokens[i - 1], {"not"}) ? i - 1 : i, true));
        } else if (tokens[i].t == Token::comparison_binary_operator) {
            for (const bool is_left : {true, false}) found.push_back(operand(tokens, i, is_left));
        }
    }
    return found;
}

}  // namespace

std::vector<std::string> searched_markup(const std::string& template_source) {
    const Tokens             tokens = jinja::lexer().tokenize(template_source).tokens;
    std::vector<std::string> markup;
    for (const std::string& text : TemplateConstants(tokens).texts_of(searched_expressions(tokens))) {
        if (is_markup(text)) markup.push_back(text);
    }
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
