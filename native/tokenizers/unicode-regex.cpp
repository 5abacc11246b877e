#include "unicode-regex.h"

#include "llama-interrupt.h"

#include <algorithm>
#include <stdexcept>

namespace chasqui {

UnicodeRegex::UnicodeRegex(const std::vector<uint32_t>& pattern) {
    const RegexNode root         = parse_regex(pattern);
    bool            may_be_empty = false;
    first_                       = CodeTable(first_codes(root, may_be_empty));
    if (may_be_empty) throw std::invalid_argument("a regular expression that matches nothing");
    const RegexNode* head = &root;
    while ((head->type == RegexNode::kSequence || head->type == RegexNode::kAlternatives) && !head->children.empty() &&
           (head->type == RegexNode::kSequence || head->children.size() == 1)) {
        head = &head->children[0];
    }
    begins_with_run_ = head->type == RegexNode::kRepeat && head->children[0].type == RegexNode::kSet &&
                       head->min >= 1 && head->max == RegexNode::kNoLimit;
    if (begins_with_run_) run_set_ = CodeTable(head->children[0].set);
    emit(root);
    add(kMatch);
    for (size_t pc = 0; pc < program_.size(); ++pc) cannot_fail_.push_back(surely_matches(pc));
}

size_t UnicodeRegex::add(Op op, size_t arg, uint32_t min, uint32_t max) {
    program_.push_back({op, arg, min, max});
    return program_.size() - 1;
}

size_t UnicodeRegex::add_set(const CodeSet& set) {
    const auto same = [&](const CodeTable& other) { return other.set().ranges() == set.ranges(); };
    const auto it   = std::find_if(sets_.begin(), sets_.end(), same);
    if (it != sets_.end()) return static_cast<size_t>(it - sets_.begin());
    sets_.emplace_back(set);
    return sets_.size() - 1;
}

void UnicodeRegex::emit(const RegexNode& node) {
    switch (node.type) {
        case RegexNode::kSet:
            add(kOne, add_set(node.set));
            break;
        case RegexNode::kEnd:
            add(kEnd);
            break;
        case RegexNode::kSequence:
            for (const RegexNode& child : node.children) emit(child);
            break;
        case RegexNode::kAlternatives:
            emit_alternatives(node);
            break;
        case RegexNode::kRepeat:
            emit_repeat(node);
            break;
        case RegexNode::kAhead:
        case RegexNode::kNotAhead: {
            const size_t look = add(node.type == RegexNode::kAhead ? kLook : kLookNot);
            emit(node.children[0]);
            add(kMatch);
            program_[look].arg = program_.size();
            break;
        }
    }
}

void UnicodeRegex::emit_alternatives(const RegexNode& node) {
    std::vector<size_t> jumps;
    for (size_t i = 0; i + 1 < node.children.size(); ++i) {
        const size_t split  = add(kSplit);
        program_[split].arg = program_.size();
        emit(node.children[i]);
        jumps.push_back(add(kJump));
        program_[split].min = static_cast<uint32_t>(program_.size());
    }
    emit(node.children.back());
    for (const size_t jump : jumps) program_[jump].arg = program_.size();
}

void UnicodeRegex::emit_repeat(const RegexNode& node) {
    const RegexNode& body = node.children[0];
    if (body.type == RegexNode::kSet) {
        add(kSpan, add_set(body.set), node.min, node.max);
        return;
    }
    bool may_be_empty = false;
    first_codes(body, may_be_empty);
    if (may_be_empty && node.max != 1) throw std::invalid_argument("a repetition of nothing");
    for (uint32_t i = 0; i < node.min; ++i) emit(body);
    if (node.max == RegexNode::kNoLimit) {
        const size_t split  = add(kSplit);
        program_[split].arg = program_.size();
        emit(body);
        add(kJump, split);
        program_[split].min = static_cast<uint32_t>(program_.size());
        return;
    }
    std::vector<size_t> splits;
    for (uint32_t i = node.min; i < node.max; ++i) {
        splits.push_back(add(kSplit));
        program_[splits.back()].arg = program_.size();
        emit(body);
    }
    for (const size_t split : splits) program_[split].min = static_cast<uint32_t>(program_.size());
}

bool UnicodeRegex::surely_matches(size_t pc) const {
    for (size_t n_steps = 0; n_steps <= program_.size(); ++n_steps) {
        const Instruction& i = program_[pc];
        switch (i.op) {
            case kMatch:
                return true;
            case kJump:
                pc = i.arg;
                break;
            case kSplit:
                pc = i.min;
                break;  // a loop ends with the second branch
            case kSpan:
                if (i.min > 0) return false;
                ++pc;
                break;
            default:
                return false;
        }
    }
    return false;
}

class RegexMachine {
public:
    RegexMachine(const UnicodeRegex& regex, const uint32_t* text, size_t end) : regex_(regex), text_(text), end_(end) {}

    bool run(size_t pc, size_t pos, size_t& match_end) {
        const size_t base = choices_.size();
        while (true) {
            llama_count_step();
            const UnicodeRegex::Instruction& i    = regex_.program_[pc];
            bool                             fits = true;
            switch (i.op) {
                case UnicodeRegex::kOne:
                    fits = pos < end_ && regex_.sets_[i.arg].has(text_[pos]);
                    ++pos, ++pc;
                    break;
                case UnicodeRegex::kSpan:
                    fits = span(base, i, pc, pos);
                    break;
                case UnicodeRegex::kSplit:
                    push(base, i.min, pos, pos);
                    pc = i.arg;
                    break;
                case UnicodeRegex::kJump:
                    pc = i.arg;
                    break;
                case UnicodeRegex::kLook:
                case UnicodeRegex::kLookNot: {
                    size_t ignored = 0;
                    fits           = run(pc + 1, pos, ignored) == (i.op == UnicodeRegex::kLook);
                    pc             = i.arg;
                    break;
                }
                case UnicodeRegex::kEnd:
                    fits = pos == end_;
                    ++pc;
                    break;
                case UnicodeRegex::kMatch:
                    choices_.resize(base);
                    match_end = pos;
                    return true;
            }
            if (!fits && !backtrack(base, pc, pos)) return false;
        }
    }

private:
    // Where to continue if the first attempt fails: at every position from `pos` back to `least`.
    struct Choice {
        size_t pc;
        size_t pos;
        size_t least;
    };

    void push(size_t base, size_t pc, size_t pos, size_t least) {
        // Earlier choices are not needed once a match is certain.
        if (regex_.cannot_fail_[pc]) {
            choices_.resize(base);
            least = pos;
        }
        choices_.push_back({pc, pos, least});
    }

    bool span(size_t base, const UnicodeRegex::Instruction& i, size_t& pc, size_t& pos) {
        const CodeTable& set   = regex_.sets_[i.arg];
        const size_t     begin = pos;
        const size_t     limit = i.max == RegexNode::kNoLimit ? end_ : std::min<size_t>(end_, begin + i.max);
        while (pos < limit && set.has(text_[pos])) ++pos;
        if (pos - begin > 4096) llama_check_interrupt();
        ++pc;
        if (pos - begin < i.min) return false;
        if (pos - begin > i.min && !regex_.cannot_fail_[pc]) push(base, pc, pos - 1, begin + i.min);
        return true;
    }

    bool backtrack(size_t base, size_t& pc, size_t& pos) {
        if (choices_.size() == base) return false;
        Choice& last = choices_.back();
        pc           = last.pc;
        pos          = last.pos;
        if (last.pos > last.least) {
            --last.pos;
        } else {
            choices_.pop_back();
        }
        return true;
    }

    const UnicodeRegex& regex_;
    const uint32_t*     text_;
    const size_t        end_;
    std::vector<Choice> choices_;
};

bool UnicodeRegex::search(const uint32_t* text, size_t& begin, size_t end, size_t& match_end) const {
    RegexMachine machine(*this, text, end);
    while (begin < end) {
        if (!first_.has(text[begin])) {
            ++begin;
            llama_count_step();
            continue;
        }
        if (machine.run(0, begin, match_end)) return true;
        ++begin;
        // What follows the run did not fit its end or any earlier end; the same holds for a run that begins later.
        while (begins_with_run_ && begin < end && run_set_.has(text[begin])) ++begin;
    }
    return false;
}

}  // namespace chasqui
