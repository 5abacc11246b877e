// Thread: JS.
#pragma once

#include "../engine.h"

#include <napi.h>

namespace chasqui {

// embed(id, tokens, lengths, media): `tokens` has the concatenated inputs, `lengths` the length of each, `media` the
// images of the only input, or null. Returns a promise of the concatenated embeddings in a Float32Array. If the request is cancelled, the promise never settles.
Napi::Promise embed_call(const Napi::CallbackInfo& call, Engine& engine);

}  // namespace chasqui
