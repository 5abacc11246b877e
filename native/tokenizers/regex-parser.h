// Thread: any. Parses the regular expressions of pre-tokenizers.
#pragma once

#include "code-set.h"

#include <cstdint>
#include <vector>

namespace chasqui {

struct RegexNode {
    enum Type { kSet, kSequence, kAlternatives, kRepeat, kAhead, kNotAhead, kEnd };

    static constexpr uint32_t kNoLimit = UINT32_MAX;

    Type                   type;
    CodeSet                set;
    std::vector<RegexNode> children;
    uint32_t               min = 0;  // of a repetition
    uint32_t               max = 0;
};

// Characters, sets, categories such as \p{L}, groups, alternatives, greedy repetitions, lookahead, `$`. Throws
// std::invalid_argument for other syntax.
RegexNode parse_regex(const std::vector<uint32_t>& pattern);

// The code points that a match may begin with.
CodeSet first_codes(const RegexNode& node, bool& may_be_empty);

}  // namespace chasqui
