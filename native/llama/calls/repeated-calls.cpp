#include "repeated-calls.h"

#include "../chat/json-shape.h"

#include <json.h>

#include <algorithm>
#include <optional>
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

// Values are compared recursively, and members are searched linearly.
constexpr size_t kMaxDepth = 64, kMaxMembers = 1000;

// nullopt: incomplete, or too large to compare.
std::optional<common_json> comparable(const std::string& arguments) {
    const JsonShape shape = shape_of(arguments);
    if (shape.depth > kMaxDepth || shape.max_members > kMaxMembers) return std::nullopt;
    common_json value = common_json::parse_no_throw(arguments);
    return value.is_object() ? std::optional(std::move(value)) : std::nullopt;
}

}  // namespace

bool drop_repeated_calls(std::vector<common_chat_tool_call>& calls, bool is_last) {
    if (calls.size() < 2) return false;
    bool ends = false;
    std::vector<common_chat_tool_call> kept;
    for (common_chat_tool_call& call : calls) {
        const auto arguments = comparable(call.arguments);
        const bool repeats   = std::any_of(kept.begin(), kept.end(), [&](const common_chat_tool_call& earlier) {
            if (earlier.name != call.name) return false;
            if (!arguments) return !is_last || earlier.arguments.compare(0, call.arguments.size(), call.arguments) == 0;
            const auto others = comparable(earlier.arguments);
            return others && is_equal(*arguments, *others);
        });
        if (!repeats) kept.push_back(std::move(call));
        ends = repeats && arguments;
        if (ends) break;
    }
    calls = std::move(kept);
    return ends;
}

}  // namespace chasqui
