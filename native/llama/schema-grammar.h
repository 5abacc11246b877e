// Thread: any.
#pragma once

#include <cstddef>
#include <string>

namespace chasqui {

// A JSON Schema may come from a request, so it is refused beyond these limits, before any work that grows faster than
// the schema does:
//
//   text     512 KiB
//   depth    64 levels: llama.cpp's converter works by recursion
//   members  5,000 of one object, such as the properties of a schema
//   parts    32,768 schemas nested in the schema
//   grammar  4 MiB, the limit of a grammar
//   counts   2,000 for minLength, maxLength, minItems, maxItems and a pattern's repetitions; larger ones are ignored
//   bounds   15 digits for minimum, maximum, exclusiveMinimum, exclusiveMaximum, of a number 9 decimals as well; longer
//            ones are ignored
//
// All but the first three are in vendor/patches/0014, 0015 and 0029, in the code that they bound.
constexpr size_t kMaxSchemaBytes = size_t{512} << 10;
constexpr size_t kMaxSchemaDepth = 64;
constexpr size_t kMaxMembers     = 5000;

// Converts a schema, given as JSON text, into a grammar in GBNF whose rule `root` is a JSON value. `where` names the
// field that the schema comes from. Throws `invalid_grammar` if it is no schema or exceeds the limits.
std::string grammar_of_schema(const std::string& schema, const std::string& where);

}  // namespace chasqui
