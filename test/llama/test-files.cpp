#include "test-files.h"

namespace chasqui::test {

const char* const kDemoModel = DEMO_MODEL;
const char* const kToolSets  = TOOL_SETS;

std::string in_llama_source(const std::string& path) { return std::string(LLAMA_SOURCE) + "/" + path; }

}  // namespace chasqui::test
