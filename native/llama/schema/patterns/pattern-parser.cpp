// ECMA-262 patterns (https://tc39.es/ecma262/#sec-patterns), without what no automaton can do.
#include "regex.h"

#include <src/unicode.h>

#include <map>
#include <optional>
#include <utility>

namespace chasqui::schema {

namespace {

constexpr unsigned kMaxDepth       = 100;
constexpr unsigned kMaxRepetitions = 2000;  // of a grammar

CodePoints set_from(std::initializer_list<CodePointRange> ranges) {
    CodePoints set;
    for (const CodePointRange& each : ranges) set.add(each.first, each.last);
    return set;
}

CodePoints digits() { return {'0', '9'}; }
CodePoints word_characters() { return set_from({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}); }
CodePoints spaces() {
    return set_from({{9, 13}, {' ', ' '}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                     {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}});
}
CodePoints line_ends() { return set_from({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

// The general categories that llama.cpp has a table of. The groups without a letter beside them are the whole ones.
CodePoints category(uint16_t flags) {
    CodePoints set;
    for (uint32_t point = 0; point <= 0x10FFFF; ++point) {
        const uint32_t first = point;
        while (point <= 0x10FFFF && (unicode_cpt_flags_from_cpt(point).as_uint() & flags) != 0) ++point;
        if (point > first) set.add(first, point - 1);
    }
    return set;
}

// Others may know more characters than our tables, so a character that is not assigned is on neither side.
CodePoints property(const std::string& name, bool negated) {
    static const std::map<std::string, uint16_t> categories = {
        {"L", unicode_cpt_flags::LETTER},      {"Letter", unicode_cpt_flags::LETTER},
        {"N", unicode_cpt_flags::NUMBER},      {"Number", unicode_cpt_flags::NUMBER},
        {"P", unicode_cpt_flags::PUNCTUATION}, {"Punctuation", unicode_cpt_flags::PUNCTUATION},
        {"S", unicode_cpt_flags::SYMBOL},      {"Symbol", unicode_cpt_flags::SYMBOL},
        {"M", unicode_cpt_flags::ACCENT_MARK}, {"Mark", unicode_cpt_flags::ACCENT_MARK},
        {"Z", unicode_cpt_flags::SEPARATOR},   {"Separator", unicode_cpt_flags::SEPARATOR},
    };
    if (name == "Any") return negated ? CodePoints() : CodePoints::all();
    if (name == "ASCII") return negated ? CodePoints(0x80, 0x10FFFF) : CodePoints(0, 0x7F);
    const size_t equals = name.find('=');
    const auto   found  = categories.find(equals == std::string::npos ? name : name.substr(equals + 1));
    const bool   known  = equals == std::string::npos || name.compare(0, equals, "gc") == 0 ||
                       name.compare(0, equals, "General_Category") == 0;
    if (found == categories.end() || !known) throw UnsupportedPattern("unknown property of Unicode");
    if (!negated) return category(found->second);
    return category(static_cast<uint16_t>(found->second | unicode_cpt_flags::UNDEFINED)).complement();
}

class PatternParser {
public:
    explicit PatternParser(const std::string& source) : points_(code_points_of(source)) {}

    RegexPtr parse() {
        RegexPtr regex = alternatives();
        if (at_ < points_.size()) throw InvalidPattern("unbalanced parentheses");
        return regex;
    }

private:
    bool     is_at_end() const { return at_ == points_.size(); }
    uint32_t peek(size_t ahead = 0) const { return at_ + ahead < points_.size() ? points_[at_ + ahead] : 0; }
    bool     skip(uint32_t point) {
        if (is_at_end() || points_[at_] != point) return false;
        ++at_;
        return true;
    }

    RegexPtr alternatives() {
        std::vector<RegexPtr> parts = {concatenation()};
        while (skip('|')) parts.push_back(concatenation());
        return choice(std::move(parts));
    }

    RegexPtr concatenation() {
        std::vector<RegexPtr> parts;
        while (!is_at_end() && peek() != '|' && peek() != ')') {
            const bool is_assertion = peek() == '^' || peek() == '$' ||
                                      (peek() == '\\' && (peek(1) == 'b' || peek(1) == 'B'));
            RegexPtr   part         = atom();
            RegexPtr   repeated     = quantified(part);
            if (is_assertion && repeated != part) throw InvalidPattern("nothing to repeat");
            parts.push_back(std::move(repeated));
        }
        return sequence(std::move(parts));
    }

    RegexPtr quantified(const RegexPtr& part) {
        unsigned min = 1, max = 1;
        if (skip('*')) {
            min = 0;
            max = Regex::kUnbounded;
        } else if (skip('+')) {
            max = Regex::kUnbounded;
        } else if (skip('?')) {
            min = 0;
        } else if (skip('{')) {
            counts(min, max);
        } else {
            return part;
        }
        skip('?');  // lazy: matches the same strings
        return repeat(part, min, max);
    }

    void counts(unsigned& min, unsigned& max) {
        min = number();
        max = min;
        if (skip(',')) max = peek() == '}' ? Regex::kUnbounded : number();
        if (!skip('}')) throw UnsupportedPattern("no number in curly brackets");
        if (max < min) throw InvalidPattern("a repetition of the pattern ends before it begins");
        if (min > kMaxRepetitions || (max > kMaxRepetitions && max != Regex::kUnbounded)) {
            throw UnsupportedPattern("more than 2,000 repetitions");
        }
    }

    unsigned number() {
        if (is_at_end() || !digits().contains(peek())) throw UnsupportedPattern("no number in curly brackets");
        unsigned value = 0;
        for (; digits().contains(peek()); ++at_) {
            if (value <= kMaxRepetitions) value = value * 10 + (peek() - '0');
        }
        return value;
    }

    RegexPtr atom() {
        const uint32_t point = points_[at_++];
        switch (point) {
            case '^': return assertion(Regex::Kind::begin);
            case '$': return assertion(Regex::Kind::end);
            case '.': return set_of(line_ends().complement());
            case '(': return group();
            case '[': return set_of(character_class());
            case '\\': return escape();
            case '*':
            case '+':
            case '?':
            case '{': throw InvalidPattern("nothing to repeat");
            case ']':
            case '}': throw UnsupportedPattern("a closing bracket alone");
            default: return range(point, point);
        }
    }

    static RegexPtr assertion(Regex::Kind kind) {
        auto regex  = std::make_shared<Regex>();
        regex->kind = kind;
        return regex;
    }

    RegexPtr group() {
        if (skip('?') && !skip(':')) {
            if (!skip('<') || peek() == '=' || peek() == '!') throw UnsupportedPattern("look-around or flags");
            while (!is_at_end() && peek() != '>') ++at_;
            if (!skip('>')) throw InvalidPattern("unterminated name of a group");
        }
        if (++depth_ > kMaxDepth) throw UnsupportedPattern("more than 100 groups within each other");
        RegexPtr regex = alternatives();
        --depth_;
        if (!skip(')')) throw InvalidPattern("unbalanced parentheses");
        return regex;
    }

    RegexPtr escape() {
        if (is_at_end()) throw InvalidPattern("trailing backslash");
        if (skip('b')) return assertion(Regex::Kind::word_boundary);
        if (skip('B')) return assertion(Regex::Kind::no_word_boundary);
        if ((peek() >= '1' && peek() <= '9') || peek() == 'k') throw UnsupportedPattern("a reference to a group");
        if (std::optional<CodePoints> set = class_escape()) return set_of(*std::move(set));
        const uint32_t point = character_escape();
        return range(point, point);
    }

    std::optional<CodePoints> class_escape() {
        switch (peek()) {
            case 'd': ++at_; return digits();
            case 'D': ++at_; return digits().complement();
            case 'w': ++at_; return word_characters();
            case 'W': ++at_; return word_characters().complement();
            case 's': ++at_; return spaces();
            case 'S': ++at_; return spaces().complement();
            case 'p':
            case 'P': {
                const bool negated = points_[at_++] == 'P';
                if (!skip('{')) throw InvalidPattern("\\p without the name of a property");
                std::string name;
                while (!is_at_end() && peek() != '}') append_utf8(name, points_[at_++]);
                if (!skip('}')) throw InvalidPattern("unterminated name of a property");
                has_property_ = true;
                return property(name, negated);
            }
            default: return std::nullopt;
        }
    }

    uint32_t character_escape() {
        static const std::map<uint32_t, uint32_t> controls = {{'t', 9}, {'n', 10}, {'v', 11}, {'f', 12}, {'r', 13}};
        const uint32_t                            point    = points_[at_++];
        if (const auto found = controls.find(point); found != controls.end()) return found->second;
        switch (point) {
            case '0':
                if (digits().contains(peek())) throw UnsupportedPattern("an octal escape");
                return 0;
            case 'c': return letter() % 32;
            case 'x': return hex(2);
            case 'u': return unicode_escape();
            default: break;
        }
        if (word_characters().contains(point)) throw UnsupportedPattern("an unknown escape");
        return point;
    }

    uint32_t letter() {
        const uint32_t lower = peek() | 0x20U;
        if (lower < 'a' || lower > 'z') throw UnsupportedPattern("an unknown escape");
        return points_[at_++];
    }

    uint32_t unicode_escape() {
        if (skip('{')) {
            uint32_t point = 0;
            do point = point * 16 + hex(1);
            while (peek() != '}' && point < 0x110000);
            if (!skip('}') || point > 0x10FFFF) throw InvalidPattern("an escape beyond Unicode");
            return point;
        }
        const uint32_t high = hex(4);
        if (high < 0xD800 || high > 0xDBFF) return no_surrogate(high);
        if (!skip('\\') || !skip('u')) throw UnsupportedPattern("half of a surrogate pair");
        const uint32_t low = hex(4);
        if (low < 0xDC00 || low > 0xDFFF) throw UnsupportedPattern("half of a surrogate pair");
        return 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00);
    }

    static uint32_t no_surrogate(uint32_t point) {
        if (point >= 0xD800 && point <= 0xDFFF) throw UnsupportedPattern("half of a surrogate pair");
        return point;
    }

    uint32_t hex(size_t n) {
        uint32_t value = 0;
        for (; n > 0; --n, ++at_) {
            const uint32_t lower = peek() | 0x20U;
            const bool     digit = digits().contains(peek());
            if (is_at_end() || (!digit && (lower < 'a' || lower > 'f'))) throw UnsupportedPattern("an unknown escape");
            value = value * 16 + (digit ? peek() - '0' : lower - 'a' + 10);
        }
        return value;
    }

    CodePoints character_class() {
        const bool negated = skip('^');
        has_property_      = false;
        if (peek() == ']') throw UnsupportedPattern("an empty character class");
        CodePoints set;
        while (!is_at_end() && peek() != ']') {
            const std::optional<uint32_t> first = class_member(set);
            const bool                    spans = peek() == '-' && peek(1) != ']' && peek(1) != 0;
            if (!spans) {
                if (first) set.add(*first, *first);
                continue;
            }
            ++at_;
            const std::optional<uint32_t> last = class_member(set);
            if (!first || !last) throw UnsupportedPattern("a range from or to a class");
            if (*last < *first) throw InvalidPattern("a range of the pattern ends before it begins");
            set.add(*first, *last);
        }
        if (!skip(']')) throw InvalidPattern("unterminated character class");
        if (negated && has_property_) throw UnsupportedPattern("a property in a negated class");
        return negated ? set.complement() : set;
    }

    // Adds a class to `set`, or returns a single character.
    std::optional<uint32_t> class_member(CodePoints& set) {
        const uint32_t point = points_[at_++];
        if (point != '\\') return point;
        if (is_at_end()) throw InvalidPattern("trailing backslash");
        if (skip('b')) return 8;
        if (skip('-')) return '-';
        if (const std::optional<CodePoints> escaped = class_escape()) {
            set.add(*escaped);
            return std::nullopt;
        }
        return character_escape();
    }

    std::vector<uint32_t> points_;
    size_t                at_    = 0;
    unsigned              depth_ = 0;
    bool                  has_property_ = false;  // in the character class
};

}  // namespace

RegexPtr parse_pattern(const std::string& source) { return PatternParser(source).parse(); }

}  // namespace chasqui::schema
