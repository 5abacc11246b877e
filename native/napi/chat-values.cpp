#include "chat-values.h"

#include "../llama/chat/chat-parser.h"
#include "call-values.h"
#include "error.h"
#include "from-js.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

using Kind = GrammarTrigger::Kind;

std::string string_from_js(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    if (!value.IsString()) throw Napi::TypeError::New(from.Env(), std::string(name) + " must be a string.");
    return value.As<Napi::String>();
}

const char* to_string(Kind kind) {
    switch (kind) {
        case Kind::pattern: return "pattern";
        case Kind::full_pattern: return "full_pattern";
        default: return "word";
    }
}

Kind kind_from_js(const std::string& name) {
    if (name == "pattern") return Kind::pattern;
    return name == "full_pattern" ? Kind::full_pattern : Kind::word;
}

Napi::Value grammar_to_js(Napi::Env env, const GrammarSettings& grammar) {
    const auto trigger_to_js = [&](const GrammarTrigger& trigger) {
        Napi::Object each = Napi::Object::New(env);
        each.Set("kind", to_string(trigger.kind));
        each.Set("value", trigger.value);
        return each;
    };
    Napi::Object result = Napi::Object::New(env);
    result.Set("gbnf", grammar.gbnf);
    result.Set("lazy", Napi::Boolean::New(env, grammar.lazy));
    result.Set("calls", Napi::Boolean::New(env, grammar.calls));
    result.Set("triggers", array_to_js(env, grammar.triggers, trigger_to_js));
    result.Set("prefill", grammar.prefill);
    result.Set("thinkingStart", grammar.thinking_start);
    result.Set("thinkingEnds", strings_to_js(env, grammar.thinking_ends));
    result.Set("detectsReasoning", grammar.detects_reasoning);
    return result;
}

Napi::Value format_to_js(Napi::Env env, const ChatFormat& format) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("kind", format.kind);
    result.Set("parser", format.parser);
    result.Set("generationPrompt", format.generation_prompt);
    result.Set("continues", Napi::Boolean::New(env, format.continues));
    result.Set("detectsReasoning", format.detects_reasoning);
    return result;
}

ChatFormat format_from_js(const Napi::Value& value) {
    if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), "format must be an object.");
    const auto  from = value.As<Napi::Object>();
    ChatFormat format;
    format.kind              = from.Get("kind").ToNumber();
    format.parser            = string_from_js(from, "parser");
    format.generation_prompt = string_from_js(from, "generationPrompt");
    format.continues         = from.Get("continues").ToBoolean();
    format.detects_reasoning = from.Get("detectsReasoning").ToBoolean();
    return format;
}

Napi::Value reasoning_to_js(Napi::Env env, const ReasoningTags& tags) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("start", tags.start);
    result.Set("ends", strings_to_js(env, tags.ends));
    result.Set("promptEnd", tags.prompt_end);
    result.Set("isDetected", tags.is_detected);
    return result;
}

Napi::Object delta_to_js(Napi::Env env, const ChatDelta& delta) {
    Napi::Object result = Napi::Object::New(env);
    if (!delta.reasoning.empty()) result.Set("reasoning", delta.reasoning);
    if (!delta.content.empty()) result.Set("content", delta.content);
    if (delta.tool_index < 0) return result;
    result.Set("toolIndex", delta.tool_index);
    if (!delta.tool_id.empty()) result.Set("toolId", delta.tool_id);
    if (!delta.tool_name.empty()) result.Set("toolName", delta.tool_name);
    result.Set("toolArguments", delta.tool_arguments);
    return result;
}

}  // namespace

Napi::Value rendered_to_js(Napi::Env env, const RenderedPrompt& rendered) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("prompt", rendered.text);
    result.Set("additionalStops", strings_to_js(env, rendered.additional_stops));
    result.Set("preservedTokens", strings_to_js(env, rendered.preserved_tokens));
    result.Set("grammar", rendered.grammar ? grammar_to_js(env, *rendered.grammar) : env.Null());
    result.Set("format", rendered.format ? format_to_js(env, *rendered.format) : env.Null());
    result.Set("reasoning", rendered.reasoning ? reasoning_to_js(env, *rendered.reasoning) : env.Null());
    using Keywords = std::pair<std::string, std::set<std::string>>;
    const std::vector<Keywords> unenforced(rendered.unenforced.begin(), rendered.unenforced.end());
    result.Set("unenforcedKeywords", array_to_js(env, unenforced, [env](const Keywords& tool) {
                   Napi::Object each = Napi::Object::New(env);
                   each.Set("tool", tool.first);
                   each.Set("keywords", strings_to_js(env, {tool.second.begin(), tool.second.end()}));
                   return each;
               }));
    return result;
}

GrammarSettings grammar_from_js(const Napi::Value& value) {
    if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), "grammar must be an object.");
    const auto      from = value.As<Napi::Object>();
    GrammarSettings grammar;
    grammar.gbnf           = string_from_js(from, "gbnf");
    if (from.Has("schema")) grammar.schema = string_from_js(from, "schema");
    grammar.lazy           = from.Get("lazy").ToBoolean();
    grammar.calls          = from.Get("calls").ToBoolean();
    grammar.prefill        = string_from_js(from, "prefill");
    grammar.thinking_start = string_from_js(from, "thinkingStart");
    grammar.thinking_ends  = strings_from_js(from, "thinkingEnds");
    grammar.detects_reasoning = from.Get("detectsReasoning").ToBoolean();
    const Napi::Value triggers = from.Get("triggers");
    if (!triggers.IsArray()) throw Napi::TypeError::New(from.Env(), "triggers must be an array.");
    for (uint32_t i = 0; i < triggers.As<Napi::Array>().Length(); ++i) {
        const auto trigger = triggers.As<Napi::Array>().Get(i).ToObject();
        grammar.triggers.push_back({kind_from_js(string_from_js(trigger, "kind")), string_from_js(trigger, "value")});
    }
    return grammar;
}

Napi::Value open_parser(const Napi::CallbackInfo& call) {
    const Napi::Env env = call.Env();
    return guarded(env, [&]() -> Napi::Value {
        const auto   parser = std::make_shared<ChatParser>(format_from_js(call[0]));
        Napi::Object result = Napi::Object::New(env);
        result.Set("push", Napi::Function::New(env, [parser](const Napi::CallbackInfo& push) -> Napi::Value {
                       return guarded(push.Env(), [&]() -> Napi::Value {
                           const auto deltas = parser->push(push[0].ToString(), push[1].ToBoolean());
                           return array_to_js(push.Env(), deltas,
                                              [&](const ChatDelta& each) { return delta_to_js(push.Env(), each); });
                       });
                   }));
        result.Set("reasoningLength", Napi::Function::New(env, [parser](const Napi::CallbackInfo& length) {
                       return Napi::Number::New(length.Env(), parser->reasoning_units());
                   }));
        result.Set("repeats", Napi::Function::New(env, [parser](const Napi::CallbackInfo& repeats) {
                       return Napi::Boolean::New(repeats.Env(), parser->repeats());
                   }));
        return result;
    });
}

}  // namespace chasqui
