// Thread: any.
#pragma once

#include <json.h>

#include <set>
#include <string>

namespace chasqui {

// Whether the names of its members decide if an object fulfills the schema: `{"anyOf": [{"required": ["a"]}]}`.
bool is_about_presence(const common_json& schema, int depth = 0);
// Whether an object with these members fulfills such a schema.
bool permits_members(const common_json& schema, const std::set<std::string>& members);

}  // namespace chasqui
