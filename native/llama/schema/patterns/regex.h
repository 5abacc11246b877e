// Thread: any.
#pragma once

#include "code-points.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace chasqui::schema {

struct Regex;
using RegexPtr = std::shared_ptr<const Regex>;

// A regular expression over code points.
struct Regex {
    enum class Kind { set, sequence, choice, repeat, begin, end, word_boundary, no_word_boundary };

    static constexpr unsigned kUnbounded = ~0U;

    Kind                  kind;
    CodePoints            set;
    std::vector<RegexPtr> parts;  // of a sequence or a choice; of a repetition the only one
    unsigned              min = 1, max = 1;
};

RegexPtr set_of(CodePoints set);
RegexPtr range(uint32_t first, uint32_t last);
RegexPtr text(const std::string& utf8);
RegexPtr sequence(std::vector<RegexPtr> parts);
RegexPtr choice(std::vector<RegexPtr> parts);
RegexPtr repeat(RegexPtr part, unsigned min, unsigned max);
RegexPtr optional(RegexPtr part);

// The expression without its anchors, if every match is the whole text and a grammar can be written from the expression as it
// is: no other assertions, no endless repetition of nothing. Else null.
RegexPtr whole_match(const RegexPtr& regex);

bool matches_empty(const Regex& regex);

// The text is no regular expression.
struct InvalidPattern : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A regular expression that has no automaton or exceeds a limit: look-around, references, properties of Unicode that we
// have no table of.
struct UnsupportedPattern : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Parses ECMA-262 with the flag `u`. The pattern of JSON Schema matches anywhere in the string.
RegexPtr parse_pattern(const std::string& source);

// The strings of a format; null if it is not enforced.
RegexPtr format_of(const std::string& name);

}  // namespace chasqui::schema
