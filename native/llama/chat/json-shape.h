// Thread: any.
#pragma once

#include <cstddef>
#include <string>

namespace chasqui {

// Properties that make a short JSON text expensive to process.
struct JsonShape {
    size_t depth       = 0;  // of nested arrays and objects: values are copied and written recursively
    size_t max_members = 0;  // of one object: llama.cpp's JSON searches members linearly
};

// Only counts brackets and commas; does not validate the JSON.
JsonShape shape_of(const std::string& json);
// Throws `template_failed` if JSON of a conversation is too large to be parsed: schemas, template variables, arguments.
void check_shape(const std::string& json);

}  // namespace chasqui
