#include "chat-templates.h"
#include "random-strings.h"

#include "core/error-code.h"
#include "llama/chat/chat-template.h"
#include "llama/schema/document.h"

#include <json.h>
#include <log.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Every keyword in every place of the arguments is enforced, reported or refused. The calls of random strings are written to
// a file beside that of tool-calls.cpp, with whether the keyword was reported; tool-calls.test.ts validates them.
namespace {

using namespace chasqui;
using namespace chasqui::test;

// One template for each way of writing values.
const char* const kFormats[] = {"Qwen3-Coder", "GLM-4.6", "openbmb-MiniCPM5-1B", "Kimi-K3", "deepseek-ai-DeepSeek-V3.2",
                                "LFM2.5-8B-A1B", "google-gemma-4-31B-it", "MiniMax-M3"};

struct Keyword {
    const char *name, *schema;
};
const std::string kMembers = R"("type":"object","properties":{"x":{"enum":[1,2]},"y":{"type":"boolean"}})";

const Keyword kOfObjects[] = {
    {"properties", ""},
    {"required", R"("required":["x"])"},
    {"additionalProperties", R"("additionalProperties":{"const":7})"},
    {"additionalProperties", R"("additionalProperties":false)"},
    {"unevaluatedProperties", R"("unevaluatedProperties":false)"},
    {"patternProperties", R"("patternProperties":{"^x":{"const":2}},"additionalProperties":false)"},
    {"propertyNames", R"("propertyNames":{"enum":["x","z"]})"},
    {"minProperties", R"("minProperties":2)"},
    {"maxProperties", R"("maxProperties":1)"},
    {"dependentRequired", R"("dependentRequired":{"x":["y"]})"},
    {"dependentSchemas", R"("dependentSchemas":{"x":{"properties":{"y":{"const":true}}}})"},
    {"dependencies", R"("dependencies":{"x":["y"]})"},
    {"if", R"("if":{"properties":{"x":{"const":1}}},"then":{"required":["y"]},"else":{"properties":{"y":{"const":true}}})"},
    {"if", R"("if":{"required":["x"]},"then":{"required":["y"]})"},
    {"not", R"("not":{"properties":{"x":{"const":1}},"required":["x"]})"},
    {"not", R"("not":{"required":["x"]})"},
    {"const", R"("const":{"x":1})"},
    {"enum", R"("enum":[{"x":1},{"y":true}])"},
    {"anyOf", R"("anyOf":[{"properties":{"x":{"const":1}},"required":["x"]},{"properties":{"y":{"const":true}},"required":["y"]}])"},
    {"oneOf", R"("oneOf":[{"properties":{"x":{"const":1}},"required":["x"]},{"properties":{"y":{"const":true}},"required":["y"]}])"},
    {"oneOf", R"("oneOf":[{"required":["x"]},{"required":["y"]}])"},
    {"oneOf", R"("oneOf":[{"properties":{"x":{"const":1}}},{"properties":{"x":{"enum":[1,2]}},"required":["x"]}])"},
    {"allOf", R"("allOf":[{"required":["x"]},{"properties":{"x":{"const":2}}}])"},
    {"allOf", R"("allOf":[{"oneOf":[{"required":["x"],"properties":{"x":{"const":2}}},{"required":["y"]}]}])"},
};
const Keyword kOfValues[] = {
    {"uniqueItems", R"({"type":"array","items":{"type":"boolean"},"minItems":1,"uniqueItems":true})"},
    {"contains", R"({"type":"array","items":{"type":"boolean"},"contains":{"const":true}})"},
    {"maxContains", R"({"type":"array","items":{"type":"boolean"},"contains":{"const":true},"maxContains":1})"},
    {"prefixItems", R"({"type":"array","prefixItems":[{"const":1},{"type":"boolean"}],"items":{"type":"null"}})"},
    {"items", R"({"type":"array","prefixItems":[{"const":1},{"type":"boolean"}],"items":false})"},
    {"unevaluatedItems", R"({"type":"array","prefixItems":[{"const":1}],"unevaluatedItems":false})"},
    {"minItems", R"({"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":3})"},
    {"allOf", R"({"type":"array","allOf":[{"items":{"enum":[1,2]}},{"maxItems":2}]})"},
    {"anyOf", R"({"type":"array","maxItems":2,"anyOf":[{"items":{"const":1}},{"items":{"type":"boolean"}}]})"},
    {"oneOf", R"({"type":"array","maxItems":2,"items":{"enum":[1,2]},"oneOf":[{"items":{"const":1}},{"minItems":1}]})"},
    {"oneOf", R"({"oneOf":[{"type":"array","items":{"const":1}},{"type":"array","items":{"type":"integer"},"maxItems":1}]})"},
    {"not", R"({"type":"array","items":{"enum":[1,2]},"not":{"maxItems":1}})"},
    {"if", R"({"type":"array","items":{"enum":[1,2]},"if":{"minItems":1},"then":{"items":{"const":1}}})"},
    {"const", R"({"type":"array","const":[1,"a"]})"},
    {"enum", R"({"enum":[[1],{"x":[true]},"a"]})"},
    {"oneOf", R"({"oneOf":[{"type":"string","maxLength":2},{"type":"string","minLength":1}]})"},
    {"oneOf", R"({"oneOf":[{"enum":["a","b",1]},{"enum":["b","c",1,2]}]})"},
    {"not", R"({"enum":["a","b"],"not":{"const":"a"}})"},
    {"if", R"({"enum":["a","b","aa"],"if":{"minLength":2},"then":{"const":"a"}})"},
    {"pattern", R"({"type":"string","pattern":"^[ab]{2}$"})"},
    {"minLength", R"({"type":"string","minLength":2,"maxLength":3})"},
    {"format", R"({"type":"string","format":"date"})"},
    {"multipleOf", R"({"type":"integer","minimum":2,"maximum":9,"multipleOf":3})"},
    {"exclusiveMinimum", R"({"type":"number","exclusiveMinimum":2,"exclusiveMaximum":3})"},
    {"type", R"({"type":["boolean","null"]})"},
    {"contentEncoding", R"({"type":"string","maxLength":2,"contentEncoding":"base64"})"},
};

// The schema as the arguments, if they may be, and as a part of them.
std::vector<std::string> places_of(const std::string& schema, bool is_object) {
    const auto object = [](const std::string& value, const std::string& more = "") {
        return R"({"type":"object","required":["v"],"additionalProperties":false,"properties":{"v":)" + value + "}" + more + "}";
    };
    std::vector<std::string> all = {
        object(schema),
        object(object(schema)),
        object(R"({"type":"array","minItems":1,"maxItems":2,"items":)" + schema + "}"),
        object(R"({"description":"D","$ref":"#/$defs/d"})", R"(,"$defs":{"d":)" + schema + "}"),
        object(R"({"allOf":[{"$ref":"#/$defs/d"},{"not":{"type":"null"}}]})", R"(,"$defs":{"d":)" + schema + "}"),
        object(R"({"anyOf":[{"type":"null"},)" + schema + "]}"),
    };
    if (is_object) all.push_back(schema);
    if (is_object) all.push_back(R"({"type":"object","allOf":[)" + schema + "]}");
    return all;
}

// The header names places of the reported keywords only, so they must be in the schema.
bool is_reported(const RenderedPrompt& prompt, const common_json& parameters) {
    const std::string text = parameters.dump();
    for (const std::string& name : unenforced_in(prompt)) {
        const size_t dot = name.find('.');
        if (dot == std::string::npos ? text.find("\"" + name + "\":") != std::string::npos : parameters.contains(name.substr(dot + 1))) {
            return true;
        }
    }
    return !schema::convert(parameters).unenforced.empty();
}

const Test keywords("call keywords: each keyword is enforced, reported or refused in every place", [] {
    common_log_pause(common_log_main());
    const char*   path = std::getenv("CHASQUI_CALLS");
    std::ofstream calls(path != nullptr ? std::string(path) + ".keywords" : "/dev/null");
    std::mt19937  random{1};
    std::vector<std::pair<Keyword, std::vector<std::string>>> all;
    for (const Keyword& each : kOfObjects) {
        all.emplace_back(each, places_of("{" + kMembers + (*each.schema == 0 ? "" : ",") + each.schema + "}", true));
    }
    for (const Keyword& each : kOfValues) all.emplace_back(each, places_of(each.schema, false));
    for (const char* name : kFormats) {
        const ChatTemplate& chat = template_of(name);
        for (const auto& [keyword, places] : all) {
            for (size_t place = 0; place < places.size(); ++place) {
                const common_json parameters = common_json::parse(places[place]);
                common_json line = {{"template", name}, {"keyword", keyword.name}, {"place", place}, {"parameters", parameters}};
                RenderedPrompt prompt;
                try {
                    prompt = chat.render(R"({"messages":[{"role":"user","content":"Hello"}],"parallel_tool_calls":false,
                        "tool_choice":"required","tools":[{"type":"function","function":{"name":"f","parameters":)" + places[place] + "}}]}");
                } catch (const Error& error) {
                    expect(error.code() == ErrorCode::invalid_grammar, std::string(name) + ": " + error.what());
                    line["refused"] = error.what();
                    calls << line.dump_safe() << "\n";
                    continue;
                }
                line["reported"] = is_reported(prompt, parameters);
                RandomStrings    strings(prompt.grammar->gbnf);
                const ChatParser shared(*prompt.format);
                for (int i = 0; i < 12; ++i) {
                    const std::string string = strings.next(random, 40 + 10 * i).substr(prompt.format->generation_prompt.size());
                    const Reply       whole  = read(*prompt.format, string, string.size() + 1);
                    expect(whole.calls.size() == 1, std::string(name) + ", " + places[place] + ": one call: " + string);
                    line["call"] = whole.calls[0];
                    calls << line.dump_safe() << "\n";
                }
            }
        }
    }
});

}  // namespace
