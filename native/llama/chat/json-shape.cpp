#include "json-shape.h"

#include "../../core/error-code.h"
#include "../schema/schema-grammar.h"

#include <algorithm>
#include <vector>

namespace chasqui {

JsonShape shape_of(const std::string& json) {
    JsonShape           shape;
    std::vector<size_t> members;  // of each open object: its commas plus one; of each open array: 0
    bool                in_string = false;
    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"') in_string = !in_string;
        if (in_string) {
            if (c == '\\') ++i;
            continue;
        }
        if (c == '{' || c == '[') {
            members.push_back(c == '{' ? 1 : 0);
            shape.depth = std::max(shape.depth, members.size());
        } else if (members.empty()) {
            continue;
        } else if (c == '}' || c == ']') {
            shape.max_members = std::max(shape.max_members, members.back());
            members.pop_back();
        } else if (c == ',' && members.back() > 0) {
            ++members.back();
        }
    }
    for (const size_t each : members) shape.max_members = std::max(shape.max_members, each);
    return shape;
}

void check_shape(const std::string& json) {
    if (shape_of(json).max_members <= kMaxMembers) return;
    throw Error(ErrorCode::template_failed, "An object in the conversation or its tools has more than 5,000 members.");
}

}  // namespace chasqui
