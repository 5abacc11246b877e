// Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace chasqui {

// A JSON Schema may come from a request. Schemas beyond these limits are refused.
//
//   text     512 KiB
//   depth    64 levels
//   members  5,000 of one object, such as the properties of a schema
//   parts    32,768 nested schemas, and as many combinations of them
//   grammar  4 MiB, the limit of a grammar
//
// A part of a schema beyond these limits is reported as not enforced:
//
//   counts   2,000 for minLength, maxLength, minItems, maxItems, minProperties, maxProperties and a pattern's repetitions
//   bounds   14 significant digits of minimum, maximum, exclusiveMinimum, exclusiveMaximum, 15 before the decimal point
//   cases    512 alternatives of one value, after `anyOf`, `oneOf`, `not` and `if` are multiplied out
//   automata 20,000 states for a pattern, together with the other limits of its string
constexpr size_t kMaxSchemaBytes = size_t{512} << 10;
constexpr size_t kMaxSchemaDepth = 64;
constexpr size_t kMaxMembers     = 5000;

struct SchemaGrammar {
    std::string              gbnf;        // its rule `root` is a JSON value
    std::vector<std::string> unenforced;  // paths of the parts that the grammar does not enforce, with `where` before them
};

// Converts a schema (JSON text) to a GBNF grammar. `where` names the schema's field for messages. Throws `invalid_grammar`
// if it is invalid, exceeds the limits or allows no value.
SchemaGrammar convert_schema(const std::string& schema, const std::string& where);
std::string   grammar_of_schema(const std::string& schema, const std::string& where);

}  // namespace chasqui
