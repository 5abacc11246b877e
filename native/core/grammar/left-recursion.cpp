#include "grammar-rules.h"

#include <algorithm>

namespace chasqui {

namespace {

// A rule that another one may begin with, after rules with empty texts.
struct LeftReference {
    uint32_t rule;
    bool     is_followed;  // the referring rule goes on after it
};
using LeftReferences = std::vector<std::vector<LeftReference>>;  // by referring rule

// Visits all nodes that are reached from the start of their rule by empty texts. A reference to a rule leads on once
// that rule is known to have an empty text.
LeftReferences find_left_references(const GrammarRules& rules) {
    struct Visit {
        uint32_t node, rule;
    };
    LeftReferences                  references(rules.starts.size());
    std::vector<std::vector<Visit>> waiting(rules.starts.size());  // for this rule to have an empty text
    std::vector<bool>               is_reached(rules.nodes.size()), may_be_empty(rules.starts.size());
    std::vector<Visit>              todo;
    const auto                      reach = [&](Visit visit) {
        if (is_reached[visit.node]) return;
        is_reached[visit.node] = true;
        todo.push_back(visit);
    };
    for (uint32_t rule = 0; rule < rules.starts.size(); ++rule) reach({rules.starts[rule], rule});
    while (!todo.empty()) {
        const Visit visit = todo.back();
        todo.pop_back();
        if (rules.nodes[visit.node].is_final && !may_be_empty[visit.rule]) {
            may_be_empty[visit.rule] = true;
            for (const Visit each : waiting[visit.rule]) reach(each);
        }
        for (uint32_t at = rules.nodes[visit.node].first_edge; at != GrammarRules::kNoEdge; at = rules.edges[at].next) {
            const GrammarRules::Edge& edge = rules.edges[at];
            if (edge.symbol.kind() != GrammarSymbol::Kind::rule) continue;
            const uint32_t referred = edge.symbol.value();
            references[visit.rule].push_back({referred, !rules.is_end(edge.target)});
            const Visit after{edge.target, visit.rule};
            if (may_be_empty[referred]) {
                reach(after);
            } else {
                waiting[referred].push_back(after);
            }
        }
    }
    return references;
}

// The strongly connected components of the rules, by Tarjan's algorithm. Not recursive: a chain of rules is as long as
// the author of the grammar likes.
std::vector<uint32_t> find_components(const LeftReferences& references) {
    struct Step {
        uint32_t rule;
        size_t   next;  // index of a reference
    };
    const size_t          n_rules = references.size();
    std::vector<uint32_t> number(n_rules), lowest(n_rules), component(n_rules);  // from 1; 0: none yet
    std::vector<uint32_t> open;                                                  // rules without a component
    std::vector<Step>     path;
    uint32_t              n_numbered = 0, n_components = 0;
    const auto            enter = [&](uint32_t rule) {
        number[rule] = lowest[rule] = ++n_numbered;
        open.push_back(rule);
        path.push_back({rule, 0});
    };
    for (uint32_t start = 0; start < n_rules; ++start) {
        if (number[start] == 0) enter(start);
        while (!path.empty()) {
            const uint32_t rule = path.back().rule;
            if (path.back().next < references[rule].size()) {
                const uint32_t referred = references[rule][path.back().next++].rule;
                if (number[referred] == 0) {
                    enter(referred);
                } else if (component[referred] == 0) {
                    lowest[rule] = std::min(lowest[rule], number[referred]);
                }
                continue;
            }
            path.pop_back();
            if (!path.empty()) lowest[path.back().rule] = std::min(lowest[path.back().rule], lowest[rule]);
            if (lowest[rule] != number[rule]) continue;
            ++n_components;
            while (component[rule] == 0) {
                component[open.back()] = n_components;
                open.pop_back();
            }
        }
    }
    return component;
}

}  // namespace

bool has_left_recursion(const GrammarRules& rules) {
    const LeftReferences        references = find_left_references(rules);
    const std::vector<uint32_t> component  = find_components(references);
    for (size_t rule = 0; rule < references.size(); ++rule) {
        for (const LeftReference& reference : references[rule]) {
            if (reference.is_followed && component[reference.rule] == component[rule]) return true;
        }
    }
    return false;
}

}  // namespace chasqui
