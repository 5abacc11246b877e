#include "schema-grammar.h"

#include "../../core/error-code.h"
#include "../chat/json-shape.h"
#include "../system/log.h"
#include "document.h"

#include <json.h>

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

}  // namespace

SchemaGrammar convert_schema(const std::string& schema, const std::string& where) {
    try {
        check_limits(schema);
        const common_json parsed    = common_json::parse(schema);
        auto [gbnf, unenforced]     = schema::convert(parsed);
        for (std::string& place : unenforced) place.insert(0, where);
        return {std::move(gbnf), std::move(unenforced)};
    } catch (const std::exception& error) {
        throw Error(ErrorCode::invalid_grammar,
                    "The JSON schema in `" + where + "` cannot be enforced: " + shortened(reason_of(error)) + ".");
    }
}

std::string grammar_of_schema(const std::string& schema, const std::string& where) {
    return convert_schema(schema, where).gbnf;
}

}  // namespace chasqui
