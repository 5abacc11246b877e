#include "schemas.h"

#include <algorithm>

namespace chasqui::schema {

namespace {

constexpr size_t kMaxSchemas    = size_t{1} << 15;
constexpr size_t kMaxCases      = 200'000;  // of all shapes together: a case takes about 500 bytes
constexpr size_t kMaxPlace      = 256;  // bytes of the place that an error or a report names
constexpr size_t kMaxUnenforced = 1000;

std::string below(const std::string& place, const std::string& part) {
    return place.size() + part.size() > kMaxPlace ? place.substr(0, kMaxPlace) + "..." : place + part;
}

}  // namespace

Schemas::Schemas(const common_json& root) : root_(root) {
    nodes_.emplace_back();  // kAnything
    nodes_.emplace_back();  // kNothing
    nodes_[kAnything].shape = std::make_unique<Shape>(any_value());
    nodes_[kNothing].shape  = std::make_unique<Shape>();
    by_literals_.emplace(std::vector<Literal>{}, kAnything);
    read_identifiers();
    locate(root_, "#", "", 0);
}

void Schemas::fail(int location, const std::string& reason) const {
    throw std::runtime_error("JSON schema error at " + locations_[location].pointer + ": " + reason);
}

void Schemas::report(const std::string& place) {
    if (unenforced_.size() < kMaxUnenforced && reported_.insert(place).second) unenforced_.push_back(place);
}

void Schemas::ignore(int location, const std::string& keyword) {
    report(below(locations_[location].place, keyword.empty() ? "" : "." + keyword));
}

int Schemas::locate(const common_json& schema, const std::string& pointer, const std::string& place, int scope) {
    const int  within          = scope_in(scope, schema);
    const auto [found, is_new] = by_schema_.emplace(std::make_pair(&schema, within), static_cast<int>(locations_.size()));
    if (is_new) {
        if (locations_.size() >= kMaxSchemas) throw std::runtime_error("it has more than 32,768 schemas within the schema");
        locations_.push_back({&schema, pointer, place, within});
    }
    return found->second;
}

int Schemas::child(int location, const std::string& keyword) {
    const Location& parent = locations_[location];
    return locate(parent.schema->at(keyword), below(parent.pointer, "/" + keyword), below(parent.place, "." + keyword),
                  parent.scope);
}

int Schemas::child(int location, const std::string& keyword, size_t index) {
    const Location&   parent = locations_[location];
    const std::string number = std::to_string(index);
    return locate(parent.schema->at(keyword).at(index), below(parent.pointer, "/" + keyword + "/" + number),
                  below(parent.place, "." + keyword + "[" + number + "]"), parent.scope);
}

int Schemas::child(int location, const std::string& keyword, const std::string& name, const common_json& schema) {
    const Location& parent = locations_[location];
    return locate(schema, below(parent.pointer, "/" + keyword + "/" + name), below(parent.place, "." + keyword + "." + name),
                  parent.scope);
}

NodeId Schemas::node_of(std::vector<Literal> literals) {
    std::vector<Literal> kept;
    for (const Literal each : literals) {
        const common_json& schema  = *locations_[each / 2].schema;
        const bool         negated = each % 2 == 1;
        if (schema.is_boolean()) {
            if (schema.get<bool>() == negated) return kNothing;
            continue;
        }
        kept.push_back(each);
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (size_t i = 1; i < kept.size(); ++i) {
        if (kept[i] / 2 == kept[i - 1] / 2) return kNothing;
    }
    const auto [found, is_new] = by_literals_.emplace(kept, static_cast<NodeId>(nodes_.size()));
    if (is_new) {
        if (nodes_.size() >= kMaxSchemas) throw std::runtime_error("it combines to more than 32,768 schemas");
        nodes_.emplace_back();
        nodes_.back().literals = std::move(kept);
    }
    return found->second;
}

NodeId Schemas::both(NodeId one, NodeId other) {
    if (one == kNothing || other == kNothing) return kNothing;
    if (one == kAnything || one == other) return other;
    if (other == kAnything) return one;
    std::vector<Literal> literals = nodes_[one].literals;
    literals.insert(literals.end(), nodes_[other].literals.begin(), nodes_[other].literals.end());
    return node_of(std::move(literals));
}

NodeId Schemas::either(NodeId one, NodeId other) {
    if (one == kAnything || other == kAnything) return kAnything;
    if (one == kNothing || one == other) return other;
    if (other == kNothing) return one;
    const auto [found, is_new] = unions_.emplace(std::minmax(one, other), 0);
    if (is_new) {
        found->second = locate(constants_.emplace_back(common_json::object()), "anyOf", "", 0);
        locations_[found->second].either.emplace(one, other);
    }
    return node_of(found->second);
}

void Schemas::count_cases(const Shape& shape) {
    n_cases_ += shape.size();
    if (n_cases_ > kMaxCases) throw std::runtime_error("its schemas have more than 200,000 alternatives together");
}

const Shape& Schemas::shape_of(NodeId node) {
    if (nodes_[node].shape == nullptr) {
        const std::vector<Literal> literals = nodes_[node].literals;
        Shape                      shape;
        bool                       is_first = true;
        for (const Literal literal : literals) {
            try {
                shape = is_first ? cases_of(literal) : product(shape, cases_of(literal));
                is_first = false;
            } catch (const NotExpressible&) {
                ignore(literal / 2, "");
            }
        }
        if (is_first) shape = any_value();
        count_cases(shape);
        nodes_[node].shape = std::make_unique<Shape>(std::move(shape));
    }
    return *nodes_[node].shape;
}

}  // namespace chasqui::schema
