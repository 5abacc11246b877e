// Fuzzes a grammar in GBNF, as in the field `grammar` of a request. The bytes after a NUL choose a path through it.
#include "execution.h"
#include "repeats.h"
#include "vocabulary.h"
#include "walk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace chasqui;

namespace {

constexpr size_t kMaxBytes = fuzz::divided(16384);
constexpr size_t kMaxSteps = 6;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzz::be_quiet();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t           end     = std::min(input.find('\0'), size);
    std::string_view       choices = end < size ? input.substr(end + 1) : std::string_view("abcd");
    fuzz::count_execution();
    GrammarSettings        grammar;
    grammar.gbnf = fuzz::with_repeats(input.substr(0, end), kMaxBytes);
    fuzz::compile_and_walk(grammar, choices.substr(0, kMaxSteps));
    return 0;
}
