// Thread: any.
#pragma once

#include <cstddef>
#include <string>

namespace chasqui {

// A JSON Schema may come from whoever sends a request, so it is refused beyond these limits, before any work that grows
// faster than it does:
//
//   text     512 KiB
//   depth    64 levels: llama.cpp's converter works by recursion
//   members  5,000 of one object, such as the properties of a schema
//   parts    32,768 schemas within the schema
//   grammar  4 MiB, which is what a grammar may have
//   counts   2,000 for minLength, maxLength, minItems, maxItems and a pattern's repetitions; those beyond are passed over
//   bounds   15 digits for minimum, maximum, exclusiveMinimum, exclusiveMaximum; those beyond are passed over
//
// All but the first three are in vendor/patches/0014 and 0015, beside the code that they bound.
constexpr size_t kMostSchemaBytes = size_t{512} << 10;
constexpr size_t kDeepestSchema   = 64;
constexpr size_t kMostMembers     = 5000;

// What the schema, the text of a JSON value, allows: a grammar in GBNF whose rule `root` is a JSON value. `where` names
// the field that it comes from. Throws `invalid_grammar` for a schema that is none or is beyond the limits.
std::string grammar_of_schema(const std::string& schema, const std::string& where);

}  // namespace chasqui
