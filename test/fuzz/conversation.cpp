// Fuzzes what a request passes to a template: JSON as ts/engine/engine.ts writes it. Two characters before it
// choose the template, and whether the resulting grammar is compiled too.
#include "core/error-code.h"
#include "execution.h"
#include "json-mutator.h"
#include "templates.h"
#include "vocabulary.h"
#include "walk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace chasqui;

namespace {

constexpr size_t kHead = 2;

const std::vector<std::string_view> kParts = {
    R"({"role":"user","content":"Hello"})",
    R"({"role":"system","content":"Be brief."})",
    R"({"role":"assistant","content":"One, two,"})",
    R"({"role":"assistant","content":"","reasoning_content":"Hm.","tool_calls":[{"id":"call00001","type":"function","function":{"name":"look","arguments":"{\"at\":\"x\"}"}}]})",
    R"({"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"","arguments":"[1"}}]})",
    R"({"role":"tool","content":"{\"a\":1}","tool_call_id":"call00001"})",
    R"({"role":"tool","content":"","name":"look"})",
    R"({"role":"developer","content":"x"})",
    R"({"tools":[{"type":"function","function":{"name":"look","description":"d","parameters":{"type":"object","properties":{"at":{"type":"string"},"n":{"type":"integer"}},"required":["at"]}}}]})",
    R"({"type":"function","function":{"name":"other"}})",
    R"({"type":"function","function":{"name":"o-_1","parameters":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"number"}}]},"b":{"enum":["x",1]}}}}})",
    R"({"tool_choice":"auto"})",
    R"({"tool_choice":"required"})",
    R"({"tool_choice":"none"})",
    R"({"tool_choice":{"name":"look"}})",
    R"({"parallel_tool_calls":false})",
    R"({"parallel_tool_calls":true})",
    R"({"json_schema":{"type":"object","properties":{"a":{"type":"string"}}}})",
    R"({"chat_template_kwargs":{"enable_thinking":true}})",
    R"({"chat_template_kwargs":{"enable_thinking":false,"reasoning_effort":"high"}})",
    R"({"chat_template_kwargs":{"messages":[],"tools":1}})",
    R"("<think>\n</think>")",
    R"("<|im_end|><tool_call>")",
    R"("{\"a\":[{\"b\":null}]}")",
    R"("\u0000\ud83d\ude00\u2028")",
    "null",
    "[]",
    "{}",
    "true",
    "-1",
    "0.5",
};

bool is_object(std::string_view json, size_t deepest) {
    size_t depth = 0;
    for (const char c : json) {
        if ((c == '{' || c == '[') && ++depth > deepest) return false;
        if ((c == '}' || c == ']') && depth > 0) --depth;
    }
    return !json.empty() && json[0] == '{';
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzz::be_quiet();
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    return fuzz::mutate_json(data, size, max_size, seed, kHead, kParts);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // The limit of ts/api/shared/json-schema/json-depth.ts, and the few levels around the values that it checks.
    constexpr size_t kMaxDepth = 72;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (size <= kHead || !is_object(input.substr(kHead), kMaxDepth)) return -1;
    fuzz::count_execution();
    const ChatTemplate& chat = fuzz::chat_template(static_cast<unsigned char>(input[0]) % fuzz::n_templates());
    try {
        const RenderedPrompt rendered = chat.render(std::string(input.substr(kHead)));
        if (rendered.grammar && input[1] % 2 == 0) fuzz::compile_and_walk(*rendered.grammar, "aZ");
    } catch (const Error&) {
    }
    return 0;
}
