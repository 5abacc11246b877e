// Thread: JS.
#pragma once

#include "../engine.h"

#include <napi.h>

namespace chasqui {

// embed(id, tokens, lengths): `tokens` holds the inputs one after another, `lengths` the length of each. Returns a
// promise of the embeddings, one after another in a Float32Array. It stays pending for ever if the request is
// cancelled.
Napi::Promise embed_call(const Napi::CallbackInfo& call, Engine& engine);

}  // namespace chasqui
