// Thread: any.
#pragma once

#include <cstddef>
#include <string>

namespace chasqui {

// What makes a JSON text costly, whatever its length.
struct JsonShape {
    size_t depth        = 0;  // of arrays and objects within each other: copying and writing a value is recursive
    size_t most_members = 0;  // of one object: llama.cpp's JSON finds each by looking through all before it
};

// Looks at brackets and commas alone; whether the rest is JSON is for the parser to say.
JsonShape shape_of(const std::string& json);

}  // namespace chasqui
