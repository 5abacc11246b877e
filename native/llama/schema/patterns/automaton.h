// Thread: any.
#pragma once

#include "regex.h"

#include <cstdint>
#include <string>
#include <vector>

namespace chasqui::schema {

// Limits the work of automata for one schema. Throws `UnsupportedPattern` beyond.
class Budget {
public:
    static constexpr size_t kMaxStates = 20'000;  // of one automaton

    void spend(size_t steps) {
        if (steps > left_) throw UnsupportedPattern("the patterns take too long");
        left_ -= steps;
    }

private:
    size_t left_ = size_t{64} << 20;
};

// A deterministic automaton over code points. Every state can reach an accepting one, but for the first of an empty language.
struct Automaton {
    struct Edge {
        CodePointRange on;
        int            to;
    };
    struct State {
        bool              accepts = false;
        std::vector<Edge> edges;  // sorted and disjoint
    };
    std::vector<State> states;  // the first is where it starts

    bool is_empty() const { return !states[0].accepts && states[0].edges.empty(); }
    bool accepts(const std::vector<uint32_t>& text) const;
    // Drops states that cannot reach an accepting one, and joins edges.
    void trim();
};

// All texts that contain a match.
Automaton automaton_of(const Regex& regex, Budget& budget);

// Texts of `min` to `max` code points.
Automaton of_length(size_t min, size_t max);
// Texts that are none of these. Beyond a limit their beginnings are excluded, too: the automaton stays small.
Automaton none_of(const std::vector<std::string>& texts);
// Digits of a decimal number with at most `decimals` of them behind the point that are not zero: the number is a multiple of
// divisor / 10^decimals.
Automaton multiples_of(unsigned divisor, unsigned decimals);

enum class Combine { both, only_first };
Automaton combine(const Automaton& one, const Automaton& other, Combine how, Budget& budget);

}  // namespace chasqui::schema
