// Thread: any.
#pragma once

#include <cstddef>
#include <string>

namespace chasqui {

// What makes a JSON text expensive to process, even if it is short.
struct JsonShape {
    size_t depth       = 0;  // of nested arrays and objects: copying and writing a value is recursive
    size_t max_members = 0;  // of one object: llama.cpp's JSON finds a member by looking through all before it
};

// Looks at brackets and commas only; the parser finds out whether the rest is JSON.
JsonShape shape_of(const std::string& json);

}  // namespace chasqui
