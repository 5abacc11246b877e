// Thread: one.
#pragma once

#include "simulation.h"

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace chasqui::sim {

// A column and the value of a run in it.
using Setting = std::pair<std::string, std::string>;

void print_head(std::ostream& out, const std::vector<Setting>& settings);
// One row for all requests; for mixed traffic, one more for each kind.
void print_lines(std::ostream& out, const std::vector<Setting>& settings, const Result& result);

}  // namespace chasqui::sim
