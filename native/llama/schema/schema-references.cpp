// `$ref`, `$dynamicRef` and the names that they refer to: references within the document.
#include "schemas.h"

#include <algorithm>

namespace chasqui::schema {

namespace {

constexpr size_t kMaxQuoted = 256;

std::string unescaped(const std::string& token) {
    std::string name;
    for (size_t i = 0; i < token.size(); ++i) {
        if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
            name += token[++i] == '0' ? '~' : '/';
        } else if (token[i] == '%' && i + 2 < token.size() && std::isxdigit(static_cast<unsigned char>(token[i + 1])) != 0 &&
                   std::isxdigit(static_cast<unsigned char>(token[i + 2])) != 0) {
            name += static_cast<char>(std::stoi(token.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            name += token[i];
        }
    }
    return name;
}

std::string without_dots(const std::string& path) {
    std::string kept;
    for (size_t begin = 0; begin <= path.size();) {
        const size_t      end     = std::min(path.find('/', begin), path.size());
        const std::string segment = path.substr(begin, end - begin) + (end < path.size() ? "/" : "");
        if (segment == ".." || segment == "../") {
            const size_t slash = kept.size() < 2 ? std::string::npos : kept.rfind('/', kept.size() - 2);
            kept.resize(slash == std::string::npos ? path[0] == '/' : slash + 1);
        } else if (segment != "." && segment != "./") {
            kept += segment;
        }
        begin = end + 1;
    }
    return kept;
}

// RFC 3986, 5.2.
std::string resolved(const std::string& base, const std::string& reference) {
    const size_t colon = reference.find(':');
    if (colon != std::string::npos && colon < reference.find_first_of("/?#")) return reference;
    const std::string document = base.substr(0, base.find('#'));
    if (reference.empty() || reference[0] == '#') return document + reference;
    const std::string before = document.substr(0, document.find('?'));
    if (reference[0] == '?') return before + reference;
    const size_t scheme = before.find("://");
    if (reference.compare(0, 2, "//") == 0) return (scheme == std::string::npos ? "" : before.substr(0, scheme + 1)) + reference;
    const size_t authority = scheme == std::string::npos ? 0 : std::min(before.find('/', scheme + 3), before.size());
    const size_t slash     = before.find_last_of('/');
    const size_t tail      = std::min(reference.find_first_of("?#"), reference.size());
    std::string  path      = reference.substr(0, tail);
    if (path[0] != '/' && slash != std::string::npos && slash >= authority) path.insert(0, before.substr(authority, slash + 1 - authority));
    if (path[0] != '/' && scheme != std::string::npos) path.insert(0, "/");
    return before.substr(0, authority) + without_dots(path) + reference.substr(tail);
}

bool is_number(const std::string& token) {
    return !token.empty() && token.size() < 10 && std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
}

const common_json* string_at(const common_json& schema, const char* keyword) {
    if (!schema.contains(keyword)) return nullptr;
    const common_json& value = schema.at(keyword);
    return value.is_string() ? &value : nullptr;
}

}  // namespace

void Schemas::read_identifiers() {
    struct Part {
        const common_json* value;
        std::string        pointer, place;
        int                resource;
        bool               is_map;  // its members are schemas whatever their names are
    };
    std::unordered_set<std::string> referred;  // names that a $dynamicRef may choose
    std::vector<Part>               todo = {{&root_, "#", "", 0, false}};
    resources_                           = {{}};
    identified_.emplace("", Identified{&root_, "#", "", false});
    while (!todo.empty()) {
        Part part = std::move(todo.back());
        todo.pop_back();
        const common_json& value = *part.value;
        if (value.is_array()) {
            for (size_t i = 0; i < value.size(); ++i) {
                const std::string number = std::to_string(i);
                if (value.at(i).is_object()) {
                    todo.push_back({&value.at(i), part.pointer + "/" + number, part.place + "[" + number + "]", part.resource, false});
                }
            }
            continue;
        }
        if (!value.is_object()) continue;
        if (const common_json* id = string_at(value, "$id")) {
            const std::string uri = resolved(resources_[part.resource].base, id->get<std::string>());
            part.resource         = static_cast<int>(resources_.size());
            resources_.push_back({uri.substr(0, uri.find('#')), {}});
            identified_.emplace(resources_.back().base, Identified{&value, part.pointer, part.place, false});
        }
        if (part.resource > 0) resource_of_[&value] = part.resource;
        for (const char* keyword : {"$anchor", "$dynamicAnchor"}) {
            const common_json* anchor = string_at(value, keyword);
            if (anchor == nullptr) continue;
            const std::string name = anchor->get<std::string>(), uri = resources_[part.resource].base + "#" + name;
            const bool        is_dynamic = keyword[1] == 'd';
            identified_.emplace(uri, Identified{&value, part.pointer, part.place, is_dynamic});
            if (is_dynamic) resources_[part.resource].dynamic.emplace(name, uri);
        }
        if (const common_json* dynamic = string_at(value, "$dynamicRef")) {
            const std::string reference = dynamic->get<std::string>();
            referred.insert(reference.substr(reference.find('#') + 1));
        }
        for (const auto& [name, member] : value.items()) {
            static const std::unordered_set<std::string> values = {"enum", "const", "default", "examples"};
            static const std::unordered_set<std::string> maps   = {"$defs", "definitions", "properties", "patternProperties", "dependentSchemas"};
            if (!(member.is_object() || member.is_array()) || (!part.is_map && values.count(name) > 0)) continue;
            const bool is_short = part.pointer.size() + name.size() < kMaxQuoted;
            todo.push_back({&member, is_short ? part.pointer + "/" + name : part.pointer + "/...", is_short ? part.place + "." + name : part.place + "...",
                            part.resource, !part.is_map && maps.count(name) > 0});
        }
    }
    for (Resource& resource : resources_) {
        for (auto each = resource.dynamic.begin(); each != resource.dynamic.end();) {
            each = referred.count(each->first) > 0 ? std::next(each) : resource.dynamic.erase(each);
        }
    }
}

// The scope behind the border of a resource: the first schema of a name stays the one that $dynamicRef means.
int Schemas::scope_in(int scope, const common_json& schema) {
    const Resource& entered = resource_of(schema);
    if (entered.dynamic.empty()) return scope;
    budget_.spend(scopes_[scope].size() + entered.dynamic.size());
    Scope within = scopes_[scope];
    within.insert(entered.dynamic.begin(), entered.dynamic.end());
    const auto [found, is_new] = by_scope_.emplace(within, static_cast<int>(scopes_.size()));
    if (is_new) scopes_.push_back(std::move(within));
    return found->second;
}

namespace {

const common_json* part_at(const common_json& document, const std::string& pointer,
                           const std::function<void(const std::string& name, bool is_index)>& step = {}) {
    const common_json* part = &document;
    for (size_t begin = 0; begin < pointer.size();) {
        const size_t      end      = std::min(pointer.find('/', begin + 1), pointer.size());
        const std::string name     = unescaped(pointer.substr(begin + 1, end - begin - 1));
        const bool        is_index = part->is_array();
        if (is_index && is_number(name) && std::stoul(name) < part->size()) {
            part = &part->at(std::stoul(name));
        } else if (part->is_object() && part->contains(name)) {
            part = &part->at(name);
        } else {
            return nullptr;
        }
        if (step) step(name, is_index);
        begin = end;
    }
    return part;
}

}  // namespace

int Schemas::pointed_at(const Identified& from, const std::string& pointer, int location) {
    std::string        path = from.pointer, place = from.place;
    const common_json* target = part_at(*from.schema, pointer, [&](const std::string& name, bool is_index) {
        path += "/" + name;
        place += is_index ? "[" + name + "]" : "." + name;
    });
    if (target == nullptr) fail(location, "cannot resolve $ref #" + pointer.substr(0, kMaxQuoted) + ", there is no such schema");
    return locate(*target, path.substr(0, kMaxQuoted), place.substr(0, kMaxQuoted), locations_[location].scope);
}

const Schemas::Identified* Schemas::identified(const Resource& from, const std::string& reference, std::string& fragment) const {
    const std::string uri     = resolved(from.base, reference);
    const size_t      hash    = std::min(uri.find('#'), uri.size());
    fragment                  = hash < uri.size() ? uri.substr(hash + 1) : "";
    const bool        is_name = !fragment.empty() && fragment[0] != '/';
    const auto        found   = identified_.find(is_name ? uri : uri.substr(0, hash));
    return found == identified_.end() ? nullptr : &found->second;
}

const Schemas::Resource& Schemas::resource_of(const common_json& schema) const {
    const auto known = resource_of_.find(&schema);
    return resources_[known == resource_of_.end() ? 0 : known->second];
}

// -1 for a schema of another document.
int Schemas::target_of(int location, const std::string& keyword) {
    std::string       fragment;
    const std::string reference = keywords_of(location).at(keyword)->get<std::string>();
    const Identified* found     = identified(resource_of(*locations_[location].schema), reference, fragment);
    if (found == nullptr) {
        const std::string uri = resolved(resource_of(*locations_[location].schema).base, reference);
        if (identified_.count(uri.substr(0, uri.find('#'))) == 0) return -1;
        fail(location, "cannot resolve " + keyword + " " + reference.substr(0, kMaxQuoted) + ", there is no such schema");
    }
    const bool is_name = !fragment.empty() && fragment[0] != '/';
    if (keyword == "$dynamicRef" && is_name && found->is_dynamic) {
        const Scope& scope = scopes_[locations_[location].scope];
        if (const auto outermost = scope.find(fragment); outermost != scope.end()) found = &identified_.at(outermost->second);
    }
    return pointed_at(*found, is_name ? "" : fragment, location);
}

const common_json* Schemas::referred(const std::string& reference) const {
    std::string       fragment;
    const Identified* found = identified(resource_of(root_), reference, fragment);
    if (found == nullptr) return nullptr;
    return part_at(*found->schema, fragment[0] == '/' ? fragment : "");
}

// Follows schemas that are nothing but a reference, or a combination of one: chains of them may be long.
Schemas::Literal Schemas::resolve(Literal literal) {
    std::unordered_set<int> passed;
    for (int location = literal / 2;;) {
        if (!locations_[location].schema->is_object()) return 2 * location + literal % 2;
        const Keywords& keywords = keywords_of(location);
        const auto      first    = std::find_if(keywords.begin(), keywords.end(), [](const auto& each) { return is_assertion(each.first); });
        const auto      n        = std::count_if(keywords.begin(), keywords.end(), [](const auto& each) { return is_assertion(each.first); });
        if (n != 1) return 2 * location + literal % 2;
        const bool is_one = (first->first == "allOf" || first->first == "anyOf" || first->first == "oneOf") &&
                            first->second->is_array() && first->second->size() == 1;
        if (first->first != "$ref" && first->first != "$dynamicRef" && !is_one) return 2 * location + literal % 2;
        const int next = is_one ? child(location, first->first, 0) : target_of(location, first->first);
        if (next < 0 || !passed.insert(next).second) return 2 * location + literal % 2;
        location = next;
    }
}

}  // namespace chasqui::schema
