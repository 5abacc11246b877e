// Thread: any, one at a time for each document.
#pragma once

#include "rules.h"
#include "schemas.h"

#include <json-schema-to-grammar.h>
#include <json.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

// Our conversion of JSON Schemas to grammars in place of llama.cpp's: document.cpp defines what common/json-schema.h and
// common/json-schema-to-grammar.h declare, so handlers of chat templates use it, too. A handler or a format of tool calls
// that has its own rules adds those of a schema like this:
//
//   const common_chat_schema_document document = common_chat_schema_from_json(schema);
//   const std::string rule = builder.add_schema("prefix", *document.root);  // the rule of a JSON value
//
// The nodes of a document tell handlers which types a value has and which properties an object. The grammar is made from the
// schema itself.
namespace chasqui::schema {

struct Converted {
    std::string              gbnf;        // its rule `root` is a JSON value
    std::vector<std::string> unenforced;  // places such as `.properties.a.format`
};

// Throws std::runtime_error for an invalid schema, and one that allows no value.
Converted convert(const common_json& schema);

}  // namespace chasqui::schema
