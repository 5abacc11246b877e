// Thread: any, one at a time.
#pragma once

#include "rules.h"
#include "schemas.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace chasqui::schema {

// Writes the rules of JSON values that the nodes of one document allow.
class ValueRules {
public:
    ValueRules(Schemas& schemas, Rules& rules) : schemas_(schemas), rules_(rules) {}

    // The name of a rule for the node, which must not be empty, with the rules of all nodes below it. `hint` becomes part of
    // the name. Values of other types than these are left out.
    std::string rule_of(NodeId node, const std::string& hint, unsigned types = kAllTypes);

private:
    // The members of an object, or the items of a set of constants: in their order, each at most once.
    struct Members {
        std::vector<std::string> required, optional;
        std::string              others;  // any number of these at the end; empty for none
        size_t                   min = 0, max = kUnlimited;
    };

    std::string name_of(NodeId node, const std::string& hint);
    std::string body_of(NodeId node, const std::string& hint, unsigned types);
    std::string number(const Case& each);
    std::string string(const Case& each);
    std::string array(const Case& each, const std::string& hint);
    std::string set_of_constants(const std::vector<common_json>& values, size_t min, size_t max);
    std::optional<std::string> different_items(const ItemPlan& plan);
    std::string object(const Case& each, const std::string& hint);
    std::string other_members(const ObjectLimits& limits, const std::vector<std::string>& known, bool is_open, const std::string& hint);
    std::string list_of(const Members& members);
    // The different values of a node; null if they are not all constants.
    std::optional<std::vector<common_json>> constants_of(NodeId node);

    Schemas&                                    schemas_;
    Rules&                                      rules_;
    std::map<NodeId, std::string>               names_;
    std::vector<std::pair<NodeId, std::string>> todo_;  // nodes whose rule has a name but no body, and their hints
};

}  // namespace chasqui::schema
