#include "schema-grammar.h"

#include "../core/error-code.h"
#include "json-shape.h"
#include "log.h"

#include <json-schema-to-grammar.h>
#include <json.h>

#include <stdexcept>

namespace chasqui {

namespace {

void check_limits(const std::string& schema) {
    if (schema.size() > kMaxSchemaBytes) throw std::runtime_error("it is longer than 512 KiB");
    const JsonShape shape = shape_of(schema);
    if (shape.depth > kMaxSchemaDepth) throw std::runtime_error("it is nested deeper than 64 levels");
    if (shape.max_members > kMaxMembers) throw std::runtime_error("an object in it has more than 5,000 members");
}

// The converter reports the failure in two lines before it says why.
std::string reason_of(const std::exception& error) {
    std::string reason = error.what();
    for (const std::string before : {"JSON schema conversion failed:\n", "JSON schema error "}) {
        if (reason.compare(0, before.size(), before) == 0) reason.erase(0, before.size());
    }
    return reason;
}

}  // namespace

std::string grammar_of_schema(const std::string& schema, const std::string& where) {
    try {
        check_limits(schema);
        return json_schema_to_grammar(common_json::parse(schema));
    } catch (const std::exception& error) {
        throw Error(ErrorCode::invalid_grammar,
                    "The JSON schema in `" + where + "` cannot be enforced: " + shortened(reason_of(error)) + ".");
    }
}

}  // namespace chasqui
