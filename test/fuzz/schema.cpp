// Fuzzes a JSON schema, as in `response_format`: it is converted to a grammar, compiled, and followed for some tokens.
#include "core/error-code.h"
#include "execution.h"
#include "json-mutator.h"
#include "llama/schema/schema-grammar.h"
#include "vocabulary.h"
#include "walk.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace chasqui;

namespace {

// The limit of ts/api/shared/json-schema/json-depth.ts.
constexpr size_t kMaxDepth = 64;

const std::vector<std::string_view> kParts = {
    R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]})",
    R"({"type":"array","items":{"type":"number"},"minItems":1,"maxItems":3})",
    R"({"type":"array","prefixItems":[{"type":"string"},{"type":"boolean"}]})",
    R"({"type":"string","minLength":2,"maxLength":5})",
    R"({"type":"string","pattern":"^a{1,3}(b|c)*[^d-f]$"})",
    R"({"type":"string","pattern":"^\\d+\\.\\w{2}-\\s?$"})",
    R"({"type":"string","format":"date-time"})",
    R"({"type":"integer","minimum":-12,"maximum":3456})",
    R"({"type":"integer","exclusiveMinimum":0})",
    R"({"type":["string","null"]})",
    R"({"anyOf":[{"type":"string"},{"$ref":"#"}]})",
    R"({"oneOf":[{"const":"x"},{"enum":["a",1,null,[],{}]}]})",
    R"({"allOf":[{"$ref":"#/$defs/a"},{"properties":{"c":{"type":"null"}}}]})",
    R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"object"}}})",
    R"({"$ref":"#/$defs/a"})",
    R"({"additionalProperties":false})",
    R"({"additionalProperties":{"type":"string"}})",
    R"({"type":"object","propertyNames":{"pattern":"^x"},"maxProperties":2})",
    R"({"not":{"type":"string"}})",
    R"({"title":"A","description":"b"})",
    "true",
    "false",
    "null",
    "{}",
    "[]",
    R"("#/$defs/a")",
    R"("string")",
    R"("^(a|b)+$")",
    "7",
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzz::be_quiet();
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    return fuzz::mutate_json(data, size, max_size, seed, 0, kParts);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // Requests pass Node's JSON parser and ts/chat first.
    const std::string schema = fuzz::as_object({reinterpret_cast<const char*>(data), size}, kMaxDepth);
    if (schema.empty()) return -1;
    fuzz::count_execution();
    GrammarSettings grammar;
    try {
        grammar.gbnf = grammar_of_schema(schema, "response_format");
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_grammar) std::abort();
        return 0;
    }
    fuzz::compile_and_walk(grammar, "a0Zq~");
    return 0;
}
