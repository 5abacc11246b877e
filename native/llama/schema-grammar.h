// Thread: any.
#pragma once

#include <cstddef>
#include <string>

namespace chasqui {

// A JSON Schema may come from a request, so it is refused beyond these limits, before any work that grows faster than
// the schema:
//
//   text     512 KiB
//   depth    64 levels: llama.cpp's converter is recursive
//   members  5,000 of one object, such as the properties of a schema
//   parts    32,768 nested schemas
//   grammar  4 MiB, the limit of a grammar
//   counts   2,000 for minLength, maxLength, minItems, maxItems and a pattern's repetitions; larger ones are ignored
//   bounds   15 digits for minimum, maximum, exclusiveMinimum, exclusiveMaximum, of a number 9 decimals as well; longer
//            ones are ignored
//
// All but the first three are enforced by vendor/patches/0006.
constexpr size_t kMaxSchemaBytes = size_t{512} << 10;
constexpr size_t kMaxSchemaDepth = 64;
constexpr size_t kMaxMembers     = 5000;

// Converts a schema (JSON text) to a GBNF grammar. Its rule `root` is a JSON value. `where` names the schema's field
// for messages. Throws `invalid_grammar` if it is invalid or exceeds the limits.
std::string grammar_of_schema(const std::string& schema, const std::string& where);

}  // namespace chasqui
