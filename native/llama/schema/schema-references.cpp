// `$ref`, `$id` and `$anchor`: references within the document.
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

// RFC 3986, 5.2, without dot segments.
std::string resolved(const std::string& base, const std::string& reference) {
    const size_t colon = reference.find(':');
    if (colon != std::string::npos && colon < reference.find_first_of("/?#")) return reference;
    const std::string document = base.substr(0, base.find('#'));
    if (reference.empty() || reference[0] == '#') return document + reference;
    const size_t scheme    = document.find("://");
    const size_t authority = scheme == std::string::npos ? 0 : document.find('/', scheme + 3);
    if (reference[0] == '/') return document.substr(0, authority) + reference;
    const size_t slash = document.rfind('/');
    if (slash == std::string::npos || (scheme != std::string::npos && slash < scheme + 3)) {
        return scheme == std::string::npos ? reference : document + "/" + reference;
    }
    return document.substr(0, slash + 1) + reference;
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
    if (identifiers_read_) return;
    identifiers_read_ = true;
    struct Part {
        const common_json* value;
        std::string        pointer, place;
        int                resource;
    };
    bases_                 = {""};
    std::vector<Part> todo = {{&root_, "#", "", 0}};
    identified_.emplace("", 0);
    while (!todo.empty()) {
        Part part = std::move(todo.back());
        todo.pop_back();
        const common_json& value = *part.value;
        if (value.is_array()) {
            for (size_t i = 0; i < value.size(); ++i) {
                const std::string number = std::to_string(i);
                if (value.at(i).is_object()) todo.push_back({&value.at(i), part.pointer + "/" + number, part.place + "[" + number + "]", part.resource});
            }
            continue;
        }
        if (!value.is_object()) continue;
        if (const common_json* id = string_at(value, "$id")) {
            const std::string uri = resolved(bases_[part.resource], id->get<std::string>());
            bases_.push_back(uri.substr(0, uri.find('#')));
            part.resource = static_cast<int>(bases_.size()) - 1;
            identified_.emplace(bases_.back(), locate(value, part.pointer, part.place));
        }
        if (part.resource > 0) resources_[&value] = part.resource;
        for (const char* keyword : {"$anchor", "$dynamicAnchor"}) {
            if (const common_json* anchor = string_at(value, keyword)) {
                identified_.emplace(resolved(bases_[part.resource], "#" + anchor->get<std::string>()), locate(value, part.pointer, part.place));
            }
        }
        for (const auto& [name, member] : value.items()) {
            const bool is_value = name == "enum" || name == "const" || name == "default" || name == "examples";
            const bool is_short = part.pointer.size() + name.size() < kMaxQuoted;
            if (is_value || !(member.is_object() || member.is_array())) continue;
            todo.push_back({&member, is_short ? part.pointer + "/" + name : part.pointer + "/...", is_short ? part.place + "." + name : part.place + "...", part.resource});
        }
    }
}

int Schemas::pointed_at(int resource, const std::string& pointer, int location) {
    const common_json* target   = locations_[resource].schema;
    std::string        path     = locations_[resource].pointer, place = locations_[resource].place;
    for (size_t begin = 0; begin < pointer.size();) {
        const size_t      end  = std::min(pointer.find('/', begin + 1), pointer.size());
        const std::string name = unescaped(pointer.substr(begin + 1, end - begin - 1));
        if (target->is_object() && target->contains(name)) {
            target = &target->at(name);
            place += "." + name;
        } else if (target->is_array() && is_number(name)) {
            const auto index = static_cast<size_t>(std::stoul(name));
            if (index >= target->size()) fail(location, "cannot resolve $ref " + pointer.substr(0, kMaxQuoted) + ", it is out of range");
            target = &target->at(index);
            place += "[" + name + "]";
        } else {
            fail(location, "cannot resolve $ref " + pointer.substr(0, kMaxQuoted) + ", there is no such schema");
        }
        path += "/" + name;
        begin = end;
    }
    return locate(*target, path.substr(0, kMaxQuoted), place.substr(0, kMaxQuoted));
}

// -1 for a schema of another document.
int Schemas::target_of(int location, const std::string& keyword) {
    const common_json& value = *keywords_of(location).at(keyword);
    if (!value.is_string()) fail(location, keyword + " must be a string");
    const std::string reference = value.get<std::string>();
    read_identifiers();
    const auto        known    = resources_.find(locations_[location].schema);
    const int         resource = known == resources_.end() ? 0 : known->second;
    const std::string uri      = resolved(bases_[resource], reference);
    const size_t      hash     = std::min(uri.find('#'), uri.size());
    const std::string fragment = hash < uri.size() ? uri.substr(hash + 1) : "";
    const bool        is_name  = !fragment.empty() && fragment[0] != '/';
    if (keyword == "$dynamicRef" && is_name) {
        // With one schema of that name there is no choice between several.
        const auto has_name = [&](const auto& each) { return each.first.substr(std::min(each.first.find('#'), each.first.size())) == "#" + fragment; };
        if (std::count_if(identified_.begin(), identified_.end(), has_name) != 1) return -1;
    }
    const auto        found    = identified_.find(is_name ? uri : uri.substr(0, hash));
    if (found == identified_.end()) return -1;
    return is_name || fragment.empty() ? found->second : pointed_at(found->second, fragment, location);
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
        if (first->first != "$ref" && !is_one) return 2 * location + literal % 2;
        const int next = is_one ? child(location, first->first, 0) : target_of(location, "$ref");
        if (next < 0 || !passed.insert(next).second) return 2 * location + literal % 2;
        location = next;
    }
}

}  // namespace chasqui::schema
