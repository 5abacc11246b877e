#include "json-mutator.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace chasqui::fuzz {

namespace {

using Json   = nlohmann::ordered_json;
using Random = std::minstd_rand;

constexpr size_t kMaxNodes = 1000;

size_t below(Random& random, size_t end) { return random() % end; }

void collect(Json& node, std::vector<Json*>& nodes) {
    if (nodes.size() >= kMaxNodes) return;
    nodes.push_back(&node);
    if (node.is_structured()) {
        for (Json& child : node) collect(child, nodes);
    }
}

std::string mutated(std::string text) {
    const size_t size = text.size();
    text.resize(size + 16);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
    return text;
}

Json part(Random& random, const std::vector<std::string_view>& parts) {
    return Json::parse(parts[below(random, parts.size())]);
}

void change_number(Json& node, Random& random) {
    static const double kNumbers[] = {0, 1, -1, 2, 3, 5, 10, 64, 100, 2000, 65536, 4294967295.0, 1e18, -1e18, 0.5, 1e300};
    const double        number     = kNumbers[below(random, std::size(kNumbers))];
    if (number > -1e17 && number < 1e17 && number == static_cast<double>(static_cast<int64_t>(number))) {
        node = static_cast<int64_t>(number);
    } else {
        node = number;
    }
}

void change_object(Json& node, Random& random, const std::vector<std::string_view>& parts) {
    if (!node.empty() && below(random, 2) == 0) {
        auto member = std::next(node.begin(), static_cast<long>(below(random, node.size())));
        if (below(random, 2) == 0) {
            node.erase(member.key());
        } else {
            const Json value = member.value();
            node[mutated(member.key())] = value;
        }
        return;
    }
    const Json more = part(random, parts);
    if (more.is_object()) {
        for (const auto& [key, value] : more.items()) node[key] = value;
    } else {
        node[mutated("a")] = more;
    }
}

void change_array(Json& node, Random& random, const std::vector<std::string_view>& parts) {
    const size_t action = below(random, 3);
    if (node.empty() || action == 0) {
        node.push_back(part(random, parts));
        return;
    }
    const size_t at = below(random, node.size());
    if (action == 1) {
        node.erase(at);
    } else {
        const Json again = node[at];
        node.push_back(again);
    }
}

void change(Json& root, Random& random, const std::vector<std::string_view>& parts) {
    std::vector<Json*> nodes;
    collect(root, nodes);
    Json& node = *nodes[below(random, nodes.size())];
    switch (below(random, 4)) {
        case 0: node = part(random, parts); return;
        case 1: node = Json(*nodes[below(random, nodes.size())]); return;
        default: break;
    }
    if (node.is_object()) return change_object(node, random, parts);
    if (node.is_array()) return change_array(node, random, parts);
    if (node.is_string()) {
        node = mutated(node.get<std::string>());
    } else {
        change_number(node, random);
    }
}

size_t depth_of(const Json& value) {
    size_t max_depth = 0;
    if (value.is_structured()) {
        for (const Json& child : value) max_depth = std::max(max_depth, 1 + depth_of(child));
    }
    return max_depth;
}

}  // namespace

std::string as_object(std::string_view text, size_t max_depth) {
    const Json value = Json::parse(text, nullptr, false);
    if (!value.is_object() || depth_of(value) > max_depth) return {};
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

size_t mutate_json(uint8_t* data, size_t size, size_t max_size, unsigned seed, size_t head,
                   const std::vector<std::string_view>& parts) {
    constexpr int kMaxTries = 4;
    Random        random(seed);
    if (size > head && below(random, 8) == 0) {
        const std::string before(data, data + size);
        const size_t      new_size = LLVMFuzzerMutate(data, size, max_size);
        if (new_size > head && Json::accept(data + head, data + new_size)) return new_size;
        std::memcpy(data, before.data(), size);
    }
    for (size_t i = size; i < head; ++i) data[i] = 0;
    if (head > 0 && below(random, 8) == 0) data[below(random, head)] = static_cast<uint8_t>(random());
    Json root = size > head ? Json::parse(data + head, data + size, nullptr, false) : Json();
    if (!root.is_structured()) root = part(random, parts);
    for (int tries = 0; tries < kMaxTries; ++tries) {
        Json         changed   = root;
        const size_t n_changes = 1 + below(random, 3);
        for (size_t i = 0; i < n_changes; ++i) change(changed, random, parts);
        const std::string text = changed.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (head + text.size() > max_size) continue;
        std::memcpy(data + head, text.data(), text.size());
        return head + text.size();
    }
    return LLVMFuzzerMutate(data, size, max_size);
}

}  // namespace chasqui::fuzz
