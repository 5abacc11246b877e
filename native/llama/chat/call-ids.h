// Thread: any.
#pragma once

#include <json.h>

#include <string>

namespace chasqui {

// Whether a template refuses ids of calls with other than 9 characters, as those of Mistral do.
bool wants_short_call_ids(const std::string& template_source);

// Replaces longer and shorter ids by 9 letters and digits that depend on the id alone.
void shorten_call_ids(common_json& messages);

}  // namespace chasqui
