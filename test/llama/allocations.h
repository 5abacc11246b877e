#pragma once

#include <cstddef>

namespace chasqui::test {

// The number of allocations of this thread so far: a measure of work that does not depend on the machine.
size_t allocations();

}  // namespace chasqui::test
