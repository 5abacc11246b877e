#include "gbnf-parser.h"

#include "../utf8-buffer.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

constexpr size_t   kMaxBytes       = size_t{4} << 20;
constexpr size_t   kMaxDepth       = 256;
constexpr size_t   kMaxSetElements = 1 << 14;
constexpr size_t   kMaxTokenLength = 256;
constexpr size_t   kMaxDigits      = 9;
constexpr size_t   kMaxExcerpt     = 40;
constexpr uint32_t kMaxRepetitions = 2000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-'; }

class Parser {
public:
    Parser(std::string_view text, const FindToken& find_token) : text_(text), find_token_(find_token) {}

    std::shared_ptr<const GrammarRules> parse() {
        if (text_.empty()) throw std::runtime_error("it is empty");
        if (text_.size() > kMaxBytes) throw std::runtime_error("it is longer than 4 MiB");
        if (text_.find('\0') != std::string_view::npos) throw std::runtime_error("it holds a NUL character");
        if (!is_valid_utf8(text_)) throw std::runtime_error("it is not valid UTF-8");
        skip_space(true);
        while (at_ < text_.size()) parse_rule();
        for (const auto& [name, rule] : rules_) {
            if (!builder_.is_defined(rule)) throw std::runtime_error("undefined rule " + excerpt(name));
        }
        const auto root = rules_.find("root");
        if (root == rules_.end()) throw std::runtime_error("no rule is named root");
        return builder_.finish(root->second);
    }

private:
    // A rule, or a part of it in parentheses.
    struct Group {
        uint32_t                     rule;
        std::vector<GrammarSequence> alternatives = std::vector<GrammarSequence>(1);
        size_t                       item         = 0;  // where the last item of the last alternative begins
    };

    char peek(size_t n = 0) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }
    bool skip(std::string_view expected) {
        if (text_.substr(at_, expected.size()) != expected) return false;
        at_ += expected.size();
        return true;
    }
    void demand(std::string_view expected) {
        if (!skip(expected)) fail("expecting " + std::string(expected));
    }

    static std::string excerpt(std::string_view text) {
        size_t length = std::min(text.size(), kMaxExcerpt);
        while (length < text.size() && (text[length] & 0xC0) == 0x80) ++length;  // no part of a character
        return std::string(text.substr(0, length));
    }
    [[noreturn]] void fail(const std::string& what) const {
        if (at_ >= text_.size()) throw std::runtime_error(what + ", but the text ends");
        throw std::runtime_error(what + " at " + excerpt(text_.substr(at_)));
    }

    void skip_space(bool lines_too) {
        for (; at_ < text_.size(); ++at_) {
            const char c       = text_[at_];
            const bool is_line = c == '\r' || c == '\n';
            if (c == '#') {
                at_ = std::min(text_.find_first_of("\r\n", at_), text_.size()) - 1;
            } else if (c != ' ' && c != '\t' && !(is_line && lines_too)) {
                return;
            }
        }
    }
    // Within parentheses, a line does not end the rule.
    void skip_space() { skip_space(groups_.size() > 1); }

    std::string_view parse_while(bool (*belongs)(char), const char* what) {
        const size_t begin = at_;
        while (at_ < text_.size() && belongs(text_[at_])) ++at_;
        if (at_ == begin) fail(std::string("expecting ") + what);
        return text_.substr(begin, at_ - begin);
    }

    uint32_t parse_number() {
        const std::string digits(parse_while(is_digit, "an integer"));
        if (digits.size() > kMaxDigits) throw std::runtime_error("integer too large: " + excerpt(digits));
        return static_cast<uint32_t>(std::stoul(digits));
    }

    uint32_t rule_named(std::string_view name) {
        const auto known = rules_.find(name);
        if (known != rules_.end()) return known->second;
        return rules_.emplace(name, builder_.add_rule()).first->second;
    }

    void parse_rule() {
        groups_.clear();
        const uint32_t rule = rule_named(parse_while(is_name, "name"));
        skip_space();
        demand("::=");
        skip_space(true);
        groups_.push_back({rule});
        while (parse_element()) skip_space();
        if (groups_.size() > 1) fail("expecting )");
        builder_.define(rule, std::move(groups_[0].alternatives));
        if (at_ < text_.size() && peek() != '\r' && peek() != '\n') fail("expecting newline or end");
        skip_space(true);
    }

    // False if no element begins here.
    bool parse_element() {
        const char c = peek();
        if (is_name(c)) {
            append(GrammarSymbol::rule(rule_named(parse_while(is_name, "name"))));
            return true;
        }
        switch (c) {
            case '"': return parse_literal();
            case '[': return parse_set();
            case '.': return parse_any();
            case '<':
            case '!': return parse_token();
            case '(': return open_group();
            case ')': return close_group();
            case '|': return begin_alternative();
            case '*': return ++at_, repeat(0, std::nullopt);
            case '+': return ++at_, repeat(1, std::nullopt);
            case '?': return ++at_, repeat(0, 1);
            case '{': return parse_times();
            default: return false;
        }
    }

    GrammarSequence& sequence() { return groups_.back().alternatives.back(); }
    void             begin_item() { groups_.back().item = sequence().size(); }
    void             append(GrammarSymbol symbol) {
        begin_item();
        sequence().push_back(symbol);
    }

    bool parse_any() {
        ++at_;
        begin_item();
        builder_.append_set(sequence(), {}, true);
        return true;
    }

    bool parse_literal() {
        begin_item();
        for (++at_; peek() != '"';) builder_.append_character(sequence(), parse_character());
        ++at_;
        return true;
    }

    bool parse_set() {
        begin_item();
        ++at_;
        const bool                  is_negated = skip("^");
        std::vector<CharacterRange> ranges;
        while (peek() != ']') {
            const uint32_t first    = parse_character();
            const bool     is_range = peek() == '-' && peek(1) != ']';
            if (is_range) ++at_;
            ranges.push_back({first, is_range ? parse_character() : first});
            if (ranges.size() > kMaxSetElements) {
                throw std::runtime_error("more than " + std::to_string(kMaxSetElements) + " characters in a set");
            }
        }
        ++at_;
        // As in llama.cpp, [] and [^] match the empty text.
        if (!ranges.empty()) builder_.append_set(sequence(), std::move(ranges), is_negated);
        return true;
    }

    uint32_t parse_character() {
        if (at_ >= text_.size()) throw std::runtime_error("unexpected end of input");
        if (peek() != '\\') return parse_utf8();
        const char escaped = peek(1);
        at_ += 2;
        switch (escaped) {
            case 'x': return parse_hex(2);
            case 'u': return parse_hex(4);
            case 'U': return parse_hex(8);
            case 't': return '\t';
            case 'r': return '\r';
            case 'n': return '\n';
            case '\\':
            case '"':
            case '[':
            case ']':
            case '-': return static_cast<uint32_t>(escaped);
            default: at_ -= 2; fail("unknown escape");
        }
    }

    uint32_t parse_utf8() {
        const auto   first  = static_cast<unsigned char>(text_[at_++]);
        const size_t n_tail = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
        uint32_t     value  = n_tail == 0 ? first : first & (0x3Fu >> n_tail);
        for (size_t i = 0; i < n_tail; ++i) value = value << 6 | (static_cast<unsigned char>(text_[at_++]) & 0x3Fu);
        return value;
    }

    uint32_t parse_hex(size_t n_digits) {
        uint32_t value = 0;
        for (size_t i = 0; i < n_digits; ++i) {
            static constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
            const size_t                      digit   = kDigits.find(peek(i));
            if (digit == std::string_view::npos) fail("expecting " + std::to_string(n_digits) + " hex digits");
            value = value << 4 | static_cast<uint32_t>(digit < 16 ? digit : digit - 6);
        }
        at_ += n_digits;
        return value;
    }

    // <[id]>, <text>, or one of them after `!`.
    bool parse_token() {
        const bool   is_other = skip("!");
        const size_t begin    = at_;
        demand("<");
        if (skip("[")) {
            append(GrammarSymbol::token(parse_number(), is_other));
            demand("]>");
            return true;
        }
        const size_t length = text_.substr(begin, kMaxTokenLength).find('>');
        if (length == std::string_view::npos) fail("expecting > after");
        at_                                = begin + length + 1;
        const std::string_view       text  = text_.substr(begin, length + 1);
        const std::optional<TokenId> token = find_token_(text);
        if (!token) throw std::runtime_error("not one token: " + excerpt(text));
        append(GrammarSymbol::token(static_cast<uint32_t>(*token), is_other));
        return true;
    }

    bool open_group() {
        if (groups_.size() >= kMaxDepth) {
            throw std::runtime_error("groups nested deeper than " + std::to_string(kMaxDepth));
        }
        ++at_;
        groups_.push_back({builder_.add_rule()});
        return true;
    }

    bool close_group() {
        if (groups_.size() == 1) return false;
        ++at_;
        const uint32_t rule = groups_.back().rule;
        builder_.define(rule, std::move(groups_.back().alternatives));
        groups_.pop_back();
        append(GrammarSymbol::rule(rule));
        return true;
    }

    bool begin_alternative() {
        ++at_;
        skip_space(true);
        groups_.back().alternatives.emplace_back();
        groups_.back().item = 0;
        return true;
    }

    // {2}, {2,} or {2,3}
    bool parse_times() {
        ++at_;
        skip_space();
        const uint32_t          min = parse_number();
        std::optional<uint32_t> max = min;
        skip_space();
        if (skip(",")) {
            skip_space();
            max = is_digit(peek()) ? std::optional<uint32_t>(parse_number()) : std::nullopt;
            skip_space();
        }
        demand("}");
        if (min > kMaxRepetitions) {
            throw std::runtime_error("more than " + std::to_string(kMaxRepetitions) + " repetitions");
        }
        return repeat(min, max);
    }

    // Replaces the last item by its repetition.
    bool repeat(uint32_t min, std::optional<uint32_t> max) {
        const auto begin = sequence().begin() + static_cast<std::ptrdiff_t>(groups_.back().item);
        if (begin == sequence().end()) fail("expecting preceding item to */+/?/{");
        if (max && *max < min) throw std::runtime_error("a repetition ends before it begins");
        if (max && *max > kMaxRepetitions) max.reset();
        const GrammarSequence item(begin, sequence().end());
        sequence().erase(begin, sequence().end());
        if (max != 0u) sequence().push_back(GrammarSymbol::rule(builder_.add_repetition(item, min, max)));
        return true;
    }

    std::string_view                            text_;
    const FindToken&                            find_token_;
    size_t                                      at_ = 0;
    GrammarBuilder                              builder_;
    std::map<std::string, uint32_t, std::less<>> rules_;   // by name
    std::vector<Group>                          groups_;  // that are open, outermost first
};

}  // namespace

std::shared_ptr<const GrammarRules> parse_gbnf(std::string_view text, const FindToken& find_token) {
    return Parser(text, find_token).parse();
}

}  // namespace chasqui
