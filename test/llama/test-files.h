// Thread: any. Paths of files that tests read. Absolute paths in a source keep another checkout from using its cached object,
// so that only test-files.cpp knows them.
#pragma once

#include <string>

namespace chasqui::test {

extern const char* const kDemoModel;
extern const char* const kToolSets;

// `path`: relative to the source of llama.cpp.
std::string in_llama_source(const std::string& path);

}  // namespace chasqui::test
