// Thread: one at a time; matchers of the same rules are independent.
#pragma once

#include "../token-constraint.h"
#include "grammar-rules.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chasqui {

inline bool is_json_space(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

// Matches a text with a grammar, byte by byte: a pushdown automaton that follows all ways to read the text.
//
// A way is a stack: the node of the current rule, and below it the nodes where the rules that refer to it continue.
// Stacks are linked lists without duplicates, so ways share what lies below. The set of all ways is a state. States are
// numbered too, so the result of a step is looked up if the same byte followed the same state before.
//
// Limits, for grammars from requests. Each throws std::length_error; the current state remains:
//
//   ways    8,192 in a state; a million stacks and four million ways in all states of a call
//   work    2^27 stacks visited in a call: about a second
class GrammarMatcher {
public:
    using State = uint32_t;
    static constexpr State kRefused = 0;  // no way leads here

    struct NextByte {
        std::optional<char> byte;
        bool                allows_space;
    };

    // At the beginning of the text. Throws std::runtime_error if there is no text that matches.
    explicit GrammarMatcher(std::shared_ptr<const GrammarRules> rules);

    // States are valid until the next call of this function. It frees memory and sets the work back to 0. The functions
    // below throw ConstraintTimeout after the deadline (nullptr: none).
    void  begin_call(const Deadline* deadline);
    State current() const { return current_; }
    void  accept(State state) { current_ = state; }

    bool  may_end(State state) const { return states_[state].may_end; }
    // Whether the grammar refers to tokens here, instead of text.
    bool  names_tokens(State state) const { return states_[state].names_tokens; }
    State after_byte(State state, char byte);
    // The only byte that may follow, apart from white space if other bytes may; nullopt: several, or a token may.
    NextByte next_byte(State state);
    // After a token, which matches by its text or by its number.
    State after_token(State state, TokenId token, std::string_view text);

    // Memory without the rules.
    size_t size_bytes() const;

private:
    static constexpr uint32_t kEmptyStack = 0;  // the text is complete

    struct Stack {
        uint32_t node, below;
        uint64_t visited;  // number of the step that visited it last
    };
    // The ways are ways_[begin] to ways_[end - 1], sorted.
    struct Ways {
        size_t begin, end;
        bool   may_end, names_tokens;
    };
    struct Step {
        uint32_t key;  // state and class of the byte
        State    result;
    };

    uint32_t push(uint32_t node, uint32_t below);
    void     expand(uint32_t stack);
    void     begin_step();
    State    take_step(State state, unsigned char byte);
    State    to_state();
    void     reset();
    void     collect_garbage();
    void     count_work(size_t n);

    std::shared_ptr<const GrammarRules> rules_;
    const Deadline*                     deadline_   = nullptr;
    size_t                              n_done_     = 0;
    size_t                              next_check_ = 0;
    State                               current_    = kRefused;
    size_t                              max_stacks_;  // more are garbage

    std::vector<Stack>                          stacks_;
    std::unordered_map<uint64_t, uint32_t>      stack_numbers_;  // by node and stack below
    std::vector<uint32_t>                       ways_;           // stacks
    std::vector<Ways>                           states_;
    std::unordered_multimap<size_t, State>      state_numbers_;  // by hash
    std::vector<Step>                           cache_;          // of steps; the newer replaces the older
    uint64_t              n_steps_ = 0;
    std::vector<uint32_t> todo_, found_;  // stacks of the current step
};

}  // namespace chasqui
