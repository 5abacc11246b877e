#include "repeated-calls.h"

#include <json.h>

#include <algorithm>
#include <string>
#include <utility>

namespace chasqui {

namespace {

bool is_equal(const common_json& one, const common_json& other) {
    if (one.is_array() && other.is_array()) {
        if (one.size() != other.size()) return false;
        for (size_t i = 0; i < one.size(); ++i) {
            if (!is_equal(one.at(i), other.at(i))) return false;
        }
        return true;
    }
    if (!one.is_object() || !other.is_object()) return one.dump() == other.dump();
    if (one.size() != other.size()) return false;
    for (const auto& [name, value] : one.items()) {
        if (!other.contains(name) || !is_equal(value, other.at(name))) return false;
    }
    return true;
}

}  // namespace

void drop_repeated_calls(std::vector<common_chat_tool_call>& calls, bool is_last) {
    std::vector<common_chat_tool_call> kept;
    for (common_chat_tool_call& call : calls) {
        const common_json arguments = common_json::parse_no_throw(call.arguments);
        const bool        is_whole  = arguments.is_object();
        const bool        repeats   = std::any_of(kept.begin(), kept.end(), [&](const common_chat_tool_call& earlier) {
            if (earlier.name != call.name) return false;
            if (is_whole) return is_equal(arguments, common_json::parse_no_throw(earlier.arguments));
            return !is_last || earlier.arguments.compare(0, call.arguments.size(), call.arguments) == 0;
        });
        if (!repeats) kept.push_back(std::move(call));
    }
    calls = std::move(kept);
}

}  // namespace chasqui
