// Thread: JS.
#pragma once

#include "../core/media.h"

#include <napi.h>

#include <memory>
#include <vector>

namespace chasqui {

// Copies images from `{ bytes }`, `{ width, height, rgb }` or `{ samples }`. A value of the wrong type throws a TypeError
// with the field's name.
std::vector<std::shared_ptr<const ImageSource>> images_from_js(const Napi::Value& value);

// A prompt's images as an opaque value for JavaScript; null for none.
Napi::Value                  media_to_js(Napi::Env env, const std::shared_ptr<const Media>& media);
std::shared_ptr<const Media> media_from_js(const Napi::Value& value);

}  // namespace chasqui
