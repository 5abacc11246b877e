// Thread: any. Sets of code points by llama.cpp's Unicode tables.
#pragma once

#include "code-set.h"

#include <string>

namespace chasqui {

const CodeSet& space_codes();
// The code points of a category such as "L"; nullptr: unknown.
const CodeSet* category_codes(const std::string& name);

}  // namespace chasqui
