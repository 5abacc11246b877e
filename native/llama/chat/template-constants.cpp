#include "template-constants.h"

#include <jinja/parser.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace chasqui {

namespace {

using Token  = jinja::token;
using Tokens = TemplateConstants::Tokens;

// Enough for every known template. The values of variables that depend on each other multiply.
constexpr size_t kMaxRuns  = 5000;
constexpr int    kMaxDepth = 4;

bool opens(const Token& token) {
    return token.t == Token::open_paren || token.t == Token::open_square_bracket || token.t == Token::open_curly_bracket;
}

bool closes(const Token& token) {
    return token.t == Token::close_paren || token.t == Token::close_square_bracket || token.t == Token::close_curly_bracket;
}

bool ends_tag(const Token& token) { return token.t == Token::close_statement || token.t == Token::close_expression; }

bool is_name(const Tokens& tokens, size_t at, const char* name = nullptr) {
    return at < tokens.size() && tokens[at].t == Token::identifier && (name == nullptr || tokens[at].value == name);
}

bool is(const Tokens& tokens, size_t at, Token::type type) { return at < tokens.size() && tokens[at].t == type; }

Tokens part_of(const Tokens& tokens, size_t begin, size_t end) {
    return {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end)};
}

Tokens in_tag(Token::type open, Tokens inner, Token::type close) {
    inner.insert(inner.begin(), {open, "", 0});
    inner.push_back({close, "", 0});
    return inner;
}

Tokens as_output(Tokens expression) { return in_tag(Token::open_expression, std::move(expression), Token::close_expression); }

std::set<std::string> variables_of(const Tokens& expression) {
    std::set<std::string> names;
    for (size_t i = 0; i < expression.size(); ++i) {
        const bool is_member = i > 0 && (expression[i - 1].t == Token::dot || expression[i - 1].t == Token::pipe);
        if (is_name(expression, i) && !is_member) names.insert(expression[i].value);
    }
    return names;
}

}  // namespace

TemplateConstants::TemplateConstants(const Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].t != Token::open_statement) continue;
        if (is_name(tokens, i + 1, "macro") && is_name(tokens, i + 2)) {
            add_macro(tokens, i + 2);
        } else if (is_name(tokens, i + 1, "set") || is_name(tokens, i + 1, "for")) {
            add_statement(tokens, i);
        }
    }
}

size_t TemplateConstants::end_of(const Tokens& tokens, size_t at) {
    for (int depth = 0; at < tokens.size() && !ends_tag(tokens[at]); ++at) {
        if (depth == 0 && (tokens[at].t == Token::comma || closes(tokens[at]))) break;
        depth += opens(tokens[at]) ? 1 : closes(tokens[at]) ? -1 : 0;
    }
    return at;
}

void TemplateConstants::add(std::vector<std::string> names, const Tokens& code, const Tokens& value, bool is_each) {
    std::set<std::string> reads = variables_of(value);
    // The result of these depends on the clock, or may be large.
    if (reads.count("strftime_now") > 0 || reads.count("range") > 0) return;
    try {
        assignments_.push_back({std::move(names), {jinja::parse_from_tokens({code, ""}), std::move(reads)}, is_each});
    } catch (const std::exception&) {
        // The template does not load either.
    }
}

// {% set name = value %}, {% set name %}value{% endset %} or {% for name in value %}
void TemplateConstants::add_statement(const Tokens& tokens, size_t at) {
    const bool               is_loop = tokens[at + 1].value == "for";
    std::vector<std::string> names;
    size_t                   i = at + 2;
    for (; is_name(tokens, i) && tokens[i].value != "in"; ++i) {
        names.push_back(tokens[i].value);
        // The object of {% set object.member = value %} changes.
        while (is(tokens, i + 1, Token::dot)) i += 2;
        if (is(tokens, i + 1, Token::comma)) ++i;
    }
    size_t close = i;
    while (close < tokens.size() && !ends_tag(tokens[close])) ++close;
    if (close >= tokens.size() || names.empty()) return;
    if (is_loop) {
        const Tokens value = part_of(tokens, std::min(i + 1, close), end_of(tokens, i + 1));
        add(std::move(names), as_output(value), value, true);
        return;
    }
    const size_t value = i + 1;
    if (i == close) {  // a block
        while (close < tokens.size() && !is_name(tokens, close, "endset")) ++close;
        close = std::min(close + 1, tokens.size() - 1);
    }
    add(std::move(names), part_of(tokens, at, close + 1), part_of(tokens, std::min(value, close), close));
}

void TemplateConstants::add_value(const std::string& name, const Tokens& value) {
    Tokens set = {{Token::identifier, "set", 0}, {Token::identifier, name, 0}, {Token::equals, "=", 0}};
    set.insert(set.end(), value.begin(), value.end());
    add({name}, in_tag(Token::open_statement, std::move(set), Token::close_statement), value);
}

// The defaults of a macro's parameters, and the arguments of its calls.
void TemplateConstants::add_macro(const Tokens& tokens, size_t name) {
    std::vector<std::string> parameters;
    const auto               each_argument = [&](size_t open, const auto& use) {
        size_t n = 0;
        for (size_t at = open + 1, end = at; at < tokens.size() && !closes(tokens[at]); at = end + 1, ++n) {
            end = end_of(tokens, at);
            use(n, at, end);
            if (!is(tokens, end, Token::comma)) break;
        }
    };
    each_argument(name + 1, [&](size_t, size_t at, size_t end) {
        parameters.push_back(tokens[at].value);
        if (is(tokens, at + 1, Token::equals)) add_value(tokens[at].value, part_of(tokens, at + 2, end));
    });
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (i == name || !is_name(tokens, i, tokens[name].value.c_str()) || !is(tokens, i + 1, Token::open_paren)) continue;
        each_argument(i + 1, [&](size_t n, size_t at, size_t end) {
            const bool is_named = is(tokens, at + 1, Token::equals);
            if (!is_named && n >= parameters.size()) return;
            add_value(is_named ? tokens[at].value : parameters[n], part_of(tokens, is_named ? at + 2 : at, end));
        });
    }
}

std::set<std::string> TemplateConstants::texts_of(const std::vector<Tokens>& expressions) {
    expressions_.clear();
    texts_.clear();
    context_ = jinja::context();
    n_runs_  = 0;
    for (const Tokens& each : expressions) {
        try {
            expressions_.push_back({jinja::parse_from_tokens({as_output(each), ""}), variables_of(each)});
        } catch (const std::exception&) {
            // The template does not load either.
        }
    }
    std::set<std::string> assigned;
    for (const Assignment& each : assignments_) assigned.insert(each.names.begin(), each.names.end());
    // The others are evaluated when their variables change.
    for (const Code& each : expressions_) {
        const bool is_fixed = std::none_of(each.reads.begin(), each.reads.end(), [&](const auto& name) { return assigned.count(name) > 0; });
        if (is_fixed) evaluate(each);
    }
    for (const Assignment& each : assignments_) run(each, 0);
    return std::exchange(texts_, {});
}

jinja::value TemplateConstants::value_of(const Code& code) {
    if (++n_runs_ > kMaxRuns) return nullptr;
    try {
        const auto values = jinja::runtime(context_).execute(code.program);
        return values->as_array().empty() ? nullptr : values->as_array().front();
    } catch (...) {  // also the signals of `break` and `continue`
        return nullptr;  // it depends on the conversation
    }
}

void TemplateConstants::run(const Assignment& assignment, int depth) {
    const jinja::value value = value_of(assignment.code);
    if (value == nullptr) return;
    if (!assignment.is_each) {
        changed(assignment.names, depth);
        return;
    }
    if (!jinja::is_val<jinja::value_array>(value)) return;
    for (const jinja::value& item : value->as_array()) {
        const bool is_tuple = assignment.names.size() > 1 && jinja::is_val<jinja::value_array>(item);
        for (size_t i = 0; i < assignment.names.size(); ++i) {
            if (is_tuple && i < item->as_array().size()) context_.set_val(assignment.names[i], item->as_array()[i]);
            if (!is_tuple) context_.set_val(assignment.names[i], item);
        }
        changed(assignment.names, depth);
    }
}

void TemplateConstants::changed(const std::vector<std::string>& names, int depth) {
    const auto reads = [&](const Code& code) {
        return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return code.reads.count(name) > 0; });
    };
    for (const Code& each : expressions_) {
        if (reads(each)) evaluate(each);
    }
    if (depth == kMaxDepth) return;
    for (const Assignment& each : assignments_) {
        if (each.names != names && reads(each.code)) run(each, depth + 1);
    }
}

void TemplateConstants::evaluate(const Code& expression) {
    const jinja::value value = value_of(expression);
    if (value == nullptr) return;
    if (jinja::is_val<jinja::value_string>(value)) texts_.insert(value->as_string().str());
    if (!jinja::is_val<jinja::value_array>(value)) return;
    for (const jinja::value& item : value->as_array()) {
        if (jinja::is_val<jinja::value_string>(item)) texts_.insert(item->as_string().str());
    }
}

}  // namespace chasqui
