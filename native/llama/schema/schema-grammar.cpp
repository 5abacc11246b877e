#include "schema-grammar.h"

#include "../../core/error-code.h"
#include "../chat/json-shape.h"
#include "../system/log.h"
#include "document.h"

#include <json.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace chasqui {

namespace {

void check_limits(const std::string& schema) {
    if (schema.size() > kMaxSchemaBytes) throw std::runtime_error("it is longer than 512 KiB");
    const JsonShape shape = shape_of(schema);
    if (shape.depth > kMaxSchemaDepth) throw std::runtime_error("it is nested deeper than 64 levels");
    if (shape.max_members > kMaxMembers) throw std::runtime_error("an object in it has more than 5,000 members");
}

// Errors about a part of the schema name it.
std::string reason_of(const std::exception& error) {
    const std::string reason = error.what(), before = "JSON schema error ";
    return reason.compare(0, before.size(), before) == 0 ? reason.substr(before.size()) : reason;
}

// LRU cache: one request converts a schema more than once, and the requests of an agent repeat their tools.
class Cache {
public:
    std::optional<schema::Converted> find(const std::string& schema) {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.schema == schema; });
        if (found == entries_.end()) return std::nullopt;
        entries_.splice(entries_.begin(), entries_, found);
        return found->converted;
    }

    void add(const std::string& schema, const schema::Converted& converted) {
        size_t n_bytes = schema.size() + converted.gbnf.size();
        for (const std::string& place : converted.unenforced) n_bytes += place.size() + sizeof(place);
        const std::lock_guard lock(mutex_);
        entries_.push_front({schema, converted, n_bytes});
        n_bytes_ += n_bytes;
        for (; n_bytes_ > kMaxBytes || entries_.size() > kMaxEntries; entries_.pop_back()) n_bytes_ -= entries_.back().n_bytes;
    }

private:
    static constexpr size_t kMaxBytes = size_t{8} << 20, kMaxEntries = 256;

    struct Entry {
        std::string       schema;
        schema::Converted converted;
        size_t            n_bytes;
    };

    std::mutex       mutex_;
    std::list<Entry> entries_;  // the most recently used first
    size_t           n_bytes_ = 0;
};

schema::Converted convert_or_recall(const std::string& schema) {
    static Cache cache;
    if (auto known = cache.find(schema)) return *std::move(known);
    check_limits(schema);
    schema::Converted converted = schema::convert(common_json::parse(schema));
    cache.add(schema, converted);
    return converted;
}

}  // namespace

SchemaGrammar convert_schema(const std::string& schema, const std::string& where) {
    try {
        auto [gbnf, unenforced] = convert_or_recall(schema);
        for (std::string& place : unenforced) place.insert(0, where);
        return {std::move(gbnf), std::move(unenforced)};
    } catch (const std::exception& error) {
        throw Error(code_of(error, ErrorCode::invalid_grammar),
                    "The JSON schema in `" + where + "` cannot be enforced: " + shortened(reason_of(error)) + ".");
    }
}

std::string grammar_of_schema(const std::string& schema, const std::string& where) {
    return convert_schema(schema, where).gbnf;
}

}  // namespace chasqui
