#include "../native/check.h"
#include "allocations.h"

#include "llama/schema/schema-grammar.h"

#include <string>

using namespace chasqui;
using namespace chasqui::test;

namespace {

size_t allocations_of(const std::string& schema) {
    const size_t before = allocations();
    grammar_of_schema(schema, "response_format");
    return allocations() - before;
}

const Test steps("hostile schema: the work for a pattern is bounded, and done once", [] {
    const std::string letters = R"({"type":"string","pattern":"\\p{L}{1000}"})";
    const size_t      first = allocations_of(letters), again = allocations_of(letters);
    expect(first < 10'000'000, std::to_string(first) + " allocations to be few");
    expect(again < 100, std::to_string(again) + " allocations to be those of a copy");
    for (size_t i = 0; i < 300; ++i) grammar_of_schema(R"({"const":)" + std::to_string(i) + "}", "response_format");
    expect(allocations_of(letters) > first / 2, "an old schema to be forgotten");
});

}  // namespace
