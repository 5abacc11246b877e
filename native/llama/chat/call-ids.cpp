#include "call-ids.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

namespace chasqui {

namespace {

constexpr size_t kLength = 9;

std::string short_id(const std::string& id) {
    const auto is_usual = [](unsigned char c) { return std::isalnum(c) != 0; };
    if (id.size() == kLength && std::all_of(id.begin(), id.end(), is_usual)) return id;
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const unsigned char c : id) hash = (hash ^ c) * 0x100000001b3;
    std::string result;
    for (; result.size() < kLength; hash /= 36) result += "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
    return result;
}

void shorten(common_json& object, const char* key) {
    const common_json id = object.value(key, common_json());
    if (id.is_string()) object[key] = short_id(id.get<std::string>());
}

// A call without a result so far.
struct OpenCall {
    std::string name, id;
};

bool has_id(const common_json& object, const char* key) {
    const common_json id = object.value(key, common_json());
    return id.is_string() && !id.get<std::string>().empty();
}

}  // namespace

bool wants_short_call_ids(const std::string& template_source) {
    return template_source.find("length != 9") != std::string::npos;
}

void complete_call_ids(common_json& messages) {
    std::vector<OpenCall> open;
    size_t                n_added = 0;
    for (common_json& message : messages) {
        if (message.contains("tool_calls") && message.at("tool_calls").is_array()) {
            for (common_json& call : message.at("tool_calls")) {
                if (!has_id(call, "id")) call["id"] = short_id("call " + std::to_string(n_added++));
                open.push_back({call.at("function").value("name", std::string()), call.at("id").get<std::string>()});
            }
        }
        if (message.value("role", std::string()) != "tool" || open.empty()) continue;
        const bool        is_named = has_id(message, "tool_call_id");
        const std::string key      = is_named ? message.at("tool_call_id").get<std::string>() : message.value("name", std::string());
        auto              answered = std::find_if(open.begin(), open.end(), [&](const OpenCall& each) {
            return (is_named ? each.id : each.name) == key;
        });
        if (answered == open.end()) {
            if (is_named) continue;
            answered = open.begin();
        }
        if (!is_named) message["tool_call_id"] = answered->id;
        open.erase(answered);
    }
}

void shorten_call_ids(common_json& messages) {
    for (common_json& message : messages) {
        shorten(message, "tool_call_id");
        if (!message.contains("tool_calls") || !message.at("tool_calls").is_array()) continue;
        for (common_json& call : message.at("tool_calls")) shorten(call, "id");
    }
}

}  // namespace chasqui
