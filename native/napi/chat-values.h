// Thread: JS.
#pragma once

#include "../llama/chat-template.h"
#include "../llama/grammar.h"

#include <napi.h>

namespace chasqui {

// RenderedPrompt, GrammarSettings and ReplyFormat as `ts/native/addon.ts` declares them. What comes back from JavaScript
// throws a TypeError that names the field at fault.
Napi::Value     rendered_to_js(Napi::Env env, const RenderedPrompt& rendered);
GrammarSettings grammar_from_js(const Napi::Value& value);

// openParser(format) → { push(text, isLast), reasoningLength() }
Napi::Value open_parser(const Napi::CallbackInfo& call);

}  // namespace chasqui
