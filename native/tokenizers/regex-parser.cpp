#include "regex-parser.h"

#include "unicode-classes.h"

#include <stdexcept>
#include <string>

namespace chasqui {
namespace {

[[noreturn]] void unsupported() { throw std::invalid_argument("unsupported regular expression"); }

class Parser {
public:
    explicit Parser(const std::vector<uint32_t>& pattern) : pattern_(pattern) {}

    RegexNode parse() {
        RegexNode root = alternatives();
        if (more()) unsupported();
        return root;
    }

private:
    bool more() const { return at_ < pattern_.size(); }
    bool next_is(uint32_t code) const { return more() && pattern_[at_] == code; }

    bool skip(const char* text) {
        size_t n = 0;
        for (; text[n] != 0; ++n) {
            if (at_ + n >= pattern_.size() || pattern_[at_ + n] != static_cast<uint32_t>(text[n])) return false;
        }
        at_ += n;
        return true;
    }

    RegexNode alternatives() {
        RegexNode result{RegexNode::kAlternatives, {}, {}};
        do result.children.push_back(sequence());
        while (skip("|"));
        return result.children.size() == 1 ? result.children[0] : result;
    }

    RegexNode sequence() {
        RegexNode result{RegexNode::kSequence, {}, {}};
        while (more() && !next_is('|') && !next_is(')')) {
            RegexNode item = repeated();
            // A lookahead at one character and that character become one set.
            if (item.type == RegexNode::kSet && !result.children.empty() &&
                result.children.back().type == RegexNode::kAhead &&
                result.children.back().children[0].type == RegexNode::kSet) {
                item.set = item.set.intersect(result.children.back().children[0].set);
                result.children.pop_back();
            }
            result.children.push_back(std::move(item));
        }
        return result.children.size() == 1 ? result.children[0] : result;
    }

    RegexNode repeated() {
        RegexNode item = this->item();
        uint32_t  min = 1, max = 1;
        if (skip("*")) {
            min = 0, max = RegexNode::kNoLimit;
        } else if (skip("+")) {
            max = RegexNode::kNoLimit;
        } else if (skip("?")) {
            min = 0;
        } else if (skip("{")) {
            min = max = number();
            if (skip(",")) max = number();
            if (!skip("}") || max < min) unsupported();
        } else {
            return item;
        }
        if (next_is('?') || next_is('+') || next_is('*') || next_is('{')) unsupported();
        return RegexNode{RegexNode::kRepeat, {}, {std::move(item)}, min, max};
    }

    uint32_t number() {
        uint32_t number   = 0;
        size_t   n_digits = 0;
        for (; more() && pattern_[at_] >= '0' && pattern_[at_] <= '9' && n_digits < 5; ++n_digits) {
            number = number * 10 + (pattern_[at_++] - '0');
        }
        if (n_digits == 0) unsupported();
        return number;
    }

    RegexNode item() {
        if (skip("(")) return group();
        if (skip("$")) return RegexNode{RegexNode::kEnd, {}, {}};
        if (skip("[")) return RegexNode{RegexNode::kSet, set(), {}};
        for (const char c : {'^', '.', '*', '+', '?', '{', '}', ']'}) {
            if (next_is(static_cast<uint32_t>(c))) unsupported();
        }
        uint32_t code = 0;
        CodeSet  set;
        if (!is_class(code, set)) set = CodeSet({{code, code}});
        return RegexNode{RegexNode::kSet, set, {}};
    }

    RegexNode group() {
        const bool ahead     = skip("?=");
        const bool not_ahead = !ahead && skip("?!");
        if (!ahead && !not_ahead && !skip("?:") && next_is('?')) unsupported();
        RegexNode inner = alternatives();
        if (!skip(")")) unsupported();
        if (!ahead && !not_ahead) return inner;
        return RegexNode{ahead ? RegexNode::kAhead : RegexNode::kNotAhead, {}, {std::move(inner)}};
    }

    // True for a class such as \s, false for a single character.
    bool is_class(uint32_t& code, CodeSet& set) {
        if (!more()) unsupported();
        code = pattern_[at_++];
        if (code != '\\') return false;
        if (!more()) unsupported();
        code = pattern_[at_++];
        switch (code) {
            case 's':
                set = space_codes();
                return true;
            case 'S':
                set = space_codes().inverse();
                return true;
            case 'd':
                set = CodeSet({{'0', '9'}});
                return true;
            case 'D':
                set = CodeSet({{'0', '9'}}).inverse();
                return true;
            case 'p':
                set = category();
                return true;
            case 't':
                code = '\t';
                return false;
            case 'n':
                code = '\n';
                return false;
            case 'r':
                code = '\r';
                return false;
            case 'v':
                code = '\v';
                return false;
            case 'f':
                code = '\f';
                return false;
            default:
                break;
        }
        if ((code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z')) unsupported();
        return false;
    }

    const CodeSet& category() {
        std::string name;
        if (!skip("{")) unsupported();
        while (more() && !next_is('}')) name += static_cast<char>(pattern_[at_++]);
        const CodeSet* codes = skip("}") ? category_codes(name) : nullptr;
        if (codes == nullptr) unsupported();
        return *codes;
    }

    CodeSet set() {
        const bool                  inverted = skip("^");
        CodeSet                     result;
        std::vector<CodeSet::Range> ranges;
        while (!skip("]")) {
            uint32_t first = 0;
            CodeSet  named;
            if (is_class(first, named)) {
                result = result.join(named);
                continue;
            }
            uint32_t last = first;
            if (next_is('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
                ++at_;
                if (is_class(last, named) || last < first) unsupported();
            }
            ranges.emplace_back(first, last);
        }
        result = result.join(CodeSet(ranges));
        return inverted ? result.inverse() : result;
    }

    const std::vector<uint32_t>& pattern_;
    size_t                       at_ = 0;
};

}  // namespace

RegexNode parse_regex(const std::vector<uint32_t>& pattern) { return Parser(pattern).parse(); }

CodeSet first_codes(const RegexNode& node, bool& may_be_empty) {
    CodeSet result;
    switch (node.type) {
        case RegexNode::kSet:
            may_be_empty = false;
            return node.set;
        case RegexNode::kSequence:
            may_be_empty = true;
            for (size_t i = 0; i < node.children.size() && may_be_empty; ++i) {
                result = result.join(first_codes(node.children[i], may_be_empty));
            }
            return result;
        case RegexNode::kAlternatives: {
            bool any_empty = false;
            for (const RegexNode& child : node.children) {
                bool is_empty = false;
                result        = result.join(first_codes(child, is_empty));
                any_empty     = any_empty || is_empty;
            }
            may_be_empty = any_empty;
            return result;
        }
        case RegexNode::kRepeat:
            result       = first_codes(node.children[0], may_be_empty);
            may_be_empty = may_be_empty || node.min == 0;
            return result;
        default:
            may_be_empty = true;
            return result;
    }
}

}  // namespace chasqui
