// Thread: any, once constructed.
#pragma once

#include "regex-parser.h"

#include <cstdint>
#include <vector>

namespace chasqui {

// Matches what std::regex (ECMAScript: the first alternative that fits) matches. std::regex recurses once for each
// character, which overflows the stack on long runs. Here a run of one set takes one entry of a stack on the heap.
class UnicodeRegex {
public:
    // Throws std::invalid_argument for unsupported syntax, and for expressions that may match nothing.
    explicit UnicodeRegex(const std::vector<uint32_t>& pattern);

    // Finds the first match that begins in [begin, end), as [begin, match_end). Returns false if there is none.
    bool search(const uint32_t* text, size_t& begin, size_t end, size_t& match_end) const;

private:
    friend class RegexMachine;

    enum Op { kOne, kSpan, kSplit, kJump, kLook, kLookNot, kEnd, kMatch };

    struct Instruction {
        Op       op;
        size_t   arg;  // a set; the first branch of a split; what follows the lookahead
        uint32_t min;  // of a span; the second branch of a split
        uint32_t max;
    };

    size_t add(Op op, size_t arg = 0, uint32_t min = 0, uint32_t max = 0);
    size_t add_set(const CodeSet& set);
    void   emit(const RegexNode& node);
    void   emit_alternatives(const RegexNode& node);
    void   emit_repeat(const RegexNode& node);
    // Whether every continuation from here ends in a match, whatever the text.
    bool surely_matches(size_t pc) const;

    std::vector<CodeTable>   sets_;
    std::vector<Instruction> program_;
    std::vector<bool>        cannot_fail_;  // [pc]
    CodeTable                first_;
    bool                     begins_with_run_ = false;
    CodeTable                run_set_;
};

}  // namespace chasqui
