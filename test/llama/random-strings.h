// Thread: any. Random strings of a grammar, without llama.cpp's grammar engine: an independent reading of GBNF.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace chasqui::test {

class RandomStrings {
public:
    explicit RandomStrings(const std::string& gbnf) : text_(gbnf) {
        for (skip(true); at_ < text_.size(); skip(true)) {
            const std::string name = read_name();
            skip(true);
            if (text_.compare(at_, 3, "::=") != 0) fail("::=");
            at_ += 3;
            skip(true);
            // Evaluated before the assignment: reading may add rules.
            const size_t rule = rule_of(name);
            const size_t body = read_choice();
            if (!rules_[rule].empty()) throw std::runtime_error("two rules are named " + name);
            rules_[rule] = {body};
        }
        for (const auto& [name, rule] : names_) {
            if (rules_[rule].empty()) throw std::runtime_error("no rule is named " + name);
        }
        measure();
        root_ = names_.at("root");
    }

    // A string of about `budget` choices at most.
    std::string next(std::mt19937& random, int budget) {
        random_ = &random;
        budget_ = budget;
        result_.clear();
        write(rules_[root_][0]);
        return result_;
    }

private:
    struct Node {
        enum Kind { literal, set, rule, sequence, choice, repeat } kind;
        std::string                                literal_text;
        bool                                       is_negated = false;
        std::vector<std::pair<uint32_t, uint32_t>> ranges;
        size_t                                     target = 0;  // rule, or the repeated node
        std::vector<size_t>                        children;
        int                                        min = 0, max = 0;  // max -1: unlimited

        explicit Node(Kind of) : kind(of) {}
    };

    [[noreturn]] void fail(const std::string& expected) const {
        throw std::runtime_error("expected " + expected + " at: " + text_.substr(at_, 40));
    }

    void skip(bool lines) {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
                ++at_;
            } else {
                return;
            }
        }
    }

    static bool belongs_to_name(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    }

    std::string read_name() {
        const size_t begin = at_;
        while (at_ < text_.size() && belongs_to_name(text_[at_])) ++at_;
        if (begin == at_) fail("a name");
        return text_.substr(begin, at_ - begin);
    }

    size_t rule_of(const std::string& name) {
        const auto [found, is_new] = names_.emplace(name, rules_.size());
        if (is_new) rules_.emplace_back();
        return found->second;
    }

    size_t add(Node node) {
        nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }

    uint32_t read_character() {
        if (text_[at_] == '\\') {
            const char   kind   = text_[at_ + 1];
            const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
            at_ += 2 + digits;
            if (digits > 0) return static_cast<uint32_t>(std::stoul(text_.substr(at_ - digits, digits), nullptr, 16));
            return kind == 'n' ? '\n' : kind == 'r' ? '\r' : kind == 't' ? '\t' : static_cast<unsigned char>(kind);
        }
        const auto     first = static_cast<unsigned char>(text_[at_++]);
        const int      n     = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        uint32_t       value = n == 0 ? first : first & (0x3fu >> n);
        for (int i = 0; i < n; ++i) value = value << 6 | (static_cast<unsigned char>(text_[at_++]) & 0x3fu);
        return value;
    }

    static void append(std::string& text, uint32_t c) {
        if (c < 0x80) {
            text += static_cast<char>(c);
        } else if (c < 0x800) {
            text += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
        } else if (c < 0x10000) {
            text += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
                     static_cast<char>(0x80 | (c & 0x3f))};
        } else {
            text += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3f)),
                     static_cast<char>(0x80 | (c >> 6 & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
        }
    }

    size_t read_choice() {
        Node choice{Node::choice};
        choice.children.push_back(read_sequence());
        while (at_ < text_.size() && text_[at_] == '|') {
            ++at_;
            skip(true);
            choice.children.push_back(read_sequence());
        }
        return choice.children.size() == 1 ? choice.children[0] : add(std::move(choice));
    }

    size_t read_sequence() {
        Node sequence{Node::sequence};
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '|' || c == ')' || c == '\n' || c == '\r') break;
            sequence.children.push_back(read_item());
            skip(depth_ > 0);
        }
        return sequence.children.size() == 1 ? sequence.children[0] : add(std::move(sequence));
    }

    size_t read_item() {
        Node       node{Node::literal};
        const char c = text_[at_];
        size_t     item;
        if (c == '(') {
            ++at_;
            ++depth_;
            skip(true);
            item = read_choice();
            if (at_ >= text_.size() || text_[at_] != ')') fail(")");
            ++at_;
            --depth_;
        } else if (c == '"') {
            for (++at_; at_ < text_.size() && text_[at_] != '"';) append(node.literal_text, read_character());
            ++at_;
            item = add(std::move(node));
        } else if (c == '[' || c == '.') {
            node.kind = Node::set;
            ++at_;
            if (c == '.') {
                node.is_negated = true;
            } else {
                node.is_negated = text_[at_] == '^';
                if (node.is_negated) ++at_;
                while (at_ < text_.size() && text_[at_] != ']') {
                    const uint32_t low  = read_character();
                    uint32_t       high = low;
                    if (text_[at_] == '-' && text_[at_ + 1] != ']') {
                        ++at_;
                        high = read_character();
                    }
                    node.ranges.push_back({low, high});
                }
                ++at_;
            }
            item = add(std::move(node));
        } else {
            node.kind   = Node::rule;
            node.target = rule_of(read_name());
            item        = add(std::move(node));
        }
        while (at_ < text_.size() && std::string("*+?{").find(text_[at_]) != std::string::npos) {
            Node repeat{Node::repeat};
            repeat.target = item;
            const char sign = text_[at_++];
            repeat.min      = sign == '+' ? 1 : 0;
            repeat.max      = sign == '?' ? 1 : -1;
            if (sign == '{') {
                size_t used = 0;
                repeat.min  = std::stoi(text_.substr(at_, 12), &used);
                at_ += used;
                repeat.max = repeat.min;
                if (text_[at_] == ',') {
                    ++at_;
                    repeat.max = -1;
                    if (text_[at_] != '}') {
                        repeat.max = std::stoi(text_.substr(at_, 12), &used);
                        at_ += used;
                    }
                }
                ++at_;
            }
            item = add(std::move(repeat));
        }
        return item;
    }

    // The least number of nodes to write each node with.
    void measure() {
        constexpr int kNever = std::numeric_limits<int>::max() / 4;
        cost_.assign(nodes_.size(), kNever);
        for (bool changes = true; changes;) {
            changes = false;
            for (size_t i = 0; i < nodes_.size(); ++i) {
                const Node& node = nodes_[i];
                int64_t     cost = 1;
                if (node.kind == Node::rule) cost += cost_[rules_[node.target][0]];
                if (node.kind == Node::repeat) cost += int64_t{node.min} * cost_[node.target];
                if (node.kind == Node::sequence) {
                    for (const size_t child : node.children) cost += cost_[child];
                }
                if (node.kind == Node::choice) {
                    int best = kNever;
                    for (const size_t child : node.children) best = std::min(best, cost_[child]);
                    cost += best;
                }
                const int bounded = static_cast<int>(std::min<int64_t>(cost, kNever));
                if (bounded < cost_[i]) {
                    cost_[i] = bounded;
                    changes  = true;
                }
            }
        }
        if (cost_[rules_[names_.at("root")][0]] >= kNever) throw std::runtime_error("the grammar has no finite string");
    }

    size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(*random_); }

    uint32_t character_of(const Node& node) {
        if (!node.is_negated) {
            const auto& [low, high] = node.ranges[below(node.ranges.size())];
            return low + static_cast<uint32_t>(below(high - low + 1));
        }
        static const std::u32string kPool = U"\t\n !\"#$%&'()*+,-./0123456789:;<=>?@AZ[\\]^_`{|}~"
                                            U"abcdefghijklmnopqrstuvwxyz\u00e9\u5f00\U0001f600";
        for (int i = 0; i < 1000; ++i) {
            const uint32_t c     = kPool[below(kPool.size())];
            const bool     is_in = std::any_of(node.ranges.begin(), node.ranges.end(),
                                               [c](const auto& range) { return c >= range.first && c <= range.second; });
            if (!is_in) return c;
        }
        throw std::runtime_error("a set without common characters");
    }

    void write(size_t index) {
        const Node& node = nodes_[index];
        --budget_;
        switch (node.kind) {
            case Node::literal: result_ += node.literal_text; return;
            case Node::set: append(result_, character_of(node)); return;
            case Node::rule: write(rules_[node.target][0]); return;
            case Node::sequence:
                for (const size_t child : node.children) write(child);
                return;
            case Node::choice: {
                std::vector<size_t> affordable;
                int                 best = std::numeric_limits<int>::max();
                for (const size_t child : node.children) best = std::min(best, cost_[child]);
                for (const size_t child : node.children) {
                    if (cost_[child] <= std::max(best, budget_)) affordable.push_back(child);
                }
                write(affordable[below(affordable.size())]);
                return;
            }
            case Node::repeat: {
                int n = 0;
                while (n < node.min) {
                    write(node.target);
                    ++n;
                }
                while ((node.max < 0 || n < node.max) && budget_ > cost_[node.target] && below(4) > 0) {
                    write(node.target);
                    ++n;
                }
                return;
            }
        }
    }

    std::string                      text_;
    size_t                           at_    = 0;
    int                              depth_ = 0;
    std::vector<Node>                nodes_;
    std::vector<std::vector<size_t>> rules_;  // one node each
    std::map<std::string, size_t>    names_;
    std::vector<int>                 cost_;
    size_t                           root_ = 0;
    std::mt19937*                    random_ = nullptr;
    int                              budget_ = 0;
    std::string                      result_;
};

}  // namespace chasqui::test
