// Thread: any.
#pragma once

#include <json.h>

#include <string>

namespace chasqui {

// Whether a template refuses ids of calls with other than 9 characters, as those of Mistral do.
bool wants_short_call_ids(const std::string& template_source);

// Adds ids to calls without one, such as those in the old form, because some templates require them. A result without an id
// gets that of its call: the first one without a result, of the same name if the result has one.
void complete_call_ids(common_json& messages);

// Replaces longer and shorter ids by 9 letters and digits that depend on the id alone.
void shorten_call_ids(common_json& messages);

}  // namespace chasqui
