// Thread: JS.
#pragma once

#include "../engine.h"

#include <napi.h>

namespace chasqui {

// embed(id, tokens, lengths): `tokens` has the concatenated inputs, `lengths` the length of each. Returns a promise of
// the concatenated embeddings in a Float32Array. If the request is cancelled, the promise never settles.
Napi::Promise embed_call(const Napi::CallbackInfo& call, Engine& engine);

}  // namespace chasqui
