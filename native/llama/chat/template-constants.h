// Thread: one at a time.
#pragma once

#include <jinja/lexer.h>
#include <jinja/runtime.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace chasqui {

// Evaluates expressions of a template that do not depend on the conversation, such as `'</' ~ tag ~ '>'` after
// `{% set tag = 'think' %}`.
class TemplateConstants {
public:
    using Tokens = std::vector<jinja::token>;

    explicit TemplateConstants(const Tokens& tokens);

    // The texts that any of these expressions has for any values that the template gives its variables. `expressions`: their
    // tokens.
    std::set<std::string> texts_of(const std::vector<Tokens>& expressions);

    // The end of the expression that begins at `at`: a comma or closing bracket outside brackets, or the end of the tag.
    static size_t end_of(const Tokens& tokens, size_t at);

private:
    // Jinja code, and the variables that it reads.
    struct Code {
        jinja::program        program;
        std::set<std::string> reads;
    };
    struct Assignment {
        std::vector<std::string> names;
        Code                     code;
        bool                     is_each = false;  // a loop: the names have the items of the value
    };

    void add(std::vector<std::string> names, const Tokens& code, const Tokens& value, bool is_each = false);
    void add_value(const std::string& name, const Tokens& value);
    void add_statement(const Tokens& tokens, size_t at);
    void add_macro(const Tokens& tokens, size_t name);
    void run(const Assignment& assignment, int depth);
    void changed(const std::vector<std::string>& names, int depth);
    // nullptr if it has none without a conversation.
    jinja::value value_of(const Code& code);
    void         evaluate(const Code& expression);

    std::vector<Assignment> assignments_;
    std::vector<Code>       expressions_;
    std::set<std::string>   texts_;
    jinja::context          context_;
    size_t                  n_runs_ = 0;
};

}  // namespace chasqui
