// Thread: JS.
#pragma once

#include "../llama/chat/chat-template.h"
#include "../llama/sampling/grammar.h"

#include <napi.h>

namespace chasqui {

// Conversions of RenderedPrompt, GrammarSettings and ChatFormat. Their JavaScript types are in `ts/native/addon.ts`. A
// value of the wrong type throws a TypeError with the field's name.
Napi::Value     rendered_to_js(Napi::Env env, const RenderedPrompt& rendered);
GrammarSettings grammar_from_js(const Napi::Value& value);

// openParser(format) → { push(text, isLast), reasoningLength(), repeats() }
Napi::Value open_parser(const Napi::CallbackInfo& call);

}  // namespace chasqui
