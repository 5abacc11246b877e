#include "raw-texts.h"

#include <utility>

namespace chasqui::raw_texts {

using schema::Automaton;
using schema::Budget;
using schema::RegexPtr;

namespace {

const RegexPtr kBegin = schema::parse_pattern("^"), kEnd = schema::parse_pattern("$");

}  // namespace

Automaton any() {
    const schema::CodePoints characters(1, 0x10FFFF);
    Automaton                all;
    all.states.resize(1);
    all.states[0].accepts = true;
    for (const schema::CodePointRange& each : characters.ranges()) all.states[0].edges.push_back({each, 0});
    return all;
}

Automaton none() {
    Automaton empty;
    empty.states.resize(1);
    return empty;
}

Automaton of(const std::vector<std::string>& texts, Budget& budget) {
    std::vector<RegexPtr> choices;
    for (const std::string& text : texts) choices.push_back(schema::text(text));
    return schema::automaton_of(*schema::sequence({kBegin, schema::choice(std::move(choices)), kEnd}), budget);
}

Automaton complement(const Automaton& texts, Budget& budget) {
    return schema::combine(any(), texts, schema::Combine::only_first, budget);
}

RegexPtr ended_early(const std::string& end) {
    std::vector<RegexPtr> ways = {schema::text(end)};
    // `end` overlaps itself: `</a></` and the end `</a></a>` contain it early.
    for (size_t n = 1; n < end.size(); ++n) {
        if (end.compare(end.size() - n, n, end, 0, n) != 0) continue;
        ways.push_back(schema::sequence({schema::text(end.substr(0, end.size() - n)), kEnd}));
    }
    return schema::choice(std::move(ways));
}

}  // namespace chasqui::raw_texts
