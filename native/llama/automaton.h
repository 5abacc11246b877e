// Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

// Thrown if a set of texts needs too many states, or a pattern uses what no automaton can decide.
class AutomatonLimit : public std::exception {
public:
    explicit AutomatonLimit(std::string what) : what_(std::move(what)) {}
    const char* what() const noexcept override { return what_.c_str(); }

private:
    std::string what_;
};

// A set of texts, as a deterministic automaton over code points. NUL and surrogates belong to no text.
class Automaton {
public:
    static constexpr uint32_t kLastCharacter = 0x10ffff;
    static constexpr size_t   kMaxStates     = 8192;

    struct Edge {
        uint32_t low, high;
        size_t   to;
    };
    struct State {
        bool              accepts = false;
        std::vector<Edge> edges;  // sorted and disjoint; no edge: rejected
    };

    static Automaton any();
    static Automaton none();
    static Automaton of(const std::vector<std::string>& texts);
    // Texts of `min` to `max` characters; `max` below 0: no maximum.
    static Automaton of_length(int64_t min, int64_t max);

    Automaton both(const Automaton& other) const;
    Automaton either(const Automaton& other) const;
    Automaton complement() const;

    // Texts that end where `end` begins for the first time: the text, followed by `end`, contains it only there.
    Automaton until(const std::string& end) const;

    bool is_empty() const { return states.empty(); }
    bool accepts(const std::string& text) const;

    // GBNF rules named `prefix`-0 (the first state), `prefix`-1, ...; one per line.
    std::string to_gbnf(const std::string& prefix) const;

    std::vector<State> states;  // the first is the start; empty: no text

    // Removes states that are not on the way from the start to an accepting state.
    void trim();

private:
    template <typename Accepts>
    Automaton product(const Automaton& other, const Accepts& accepts) const;
    // Every character has an edge from every state.
    Automaton completed() const;
};

std::vector<uint32_t> to_characters(const std::string& utf8);

}  // namespace chasqui
