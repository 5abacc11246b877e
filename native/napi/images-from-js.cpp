#include "images-from-js.h"

#include <cmath>
#include <string>

namespace chasqui {

namespace {

using Held = std::shared_ptr<const Media>;

constexpr napi_type_tag kMediaTag{0x6368617371756931, 0x6d656469612d3031};

// Copies a Uint8Array, or an Int16Array.
std::vector<uint8_t> bytes_field(const Napi::Object& from, const char* name,
                                 napi_typedarray_type type = napi_uint8_array) {
    const Napi::Value value = from.Get(name);
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
        const char* array = type == napi_uint8_array ? " must be a Uint8Array." : " must be an Int16Array.";
        throw Napi::TypeError::New(from.Env(), std::string("An image's ") + name + array);
    }
    const auto  array = value.As<Napi::TypedArray>();
    const auto* bytes = static_cast<const uint8_t*>(array.ArrayBuffer().Data()) + array.ByteOffset();
    return std::vector<uint8_t>(bytes, bytes + array.ByteLength());
}

uint32_t side_field(const Napi::Object& from, const char* name) {
    const Napi::Value value = from.Get(name);
    const double      side  = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : 0;
    if (!(side >= 1) || side > UINT32_MAX || side != std::floor(side)) {
        throw Napi::TypeError::New(from.Env(),
                                   std::string("An image's ") + name + " must be a whole number from 1 on.");
    }
    return static_cast<uint32_t>(side);
}

size_t bytes_of(const Media& media) {
    size_t n_bytes = 0;
    for (const PromptImage& image : media.images) {
        n_bytes += image.source->bytes.size();
    }
    return n_bytes;
}

std::shared_ptr<const ImageSource> image_from_js(const Napi::Value& value) {
    if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), "An image must be an object.");
    const auto from   = value.As<Napi::Object>();
    auto       source = std::make_shared<ImageSource>();
    if (from.Has("samples")) {
        source->is_audio = true;
        source->bytes    = bytes_field(from, "samples", napi_int16_array);
    } else if (from.Has("bytes")) {
        source->bytes = bytes_field(from, "bytes");
    } else {
        source->width  = side_field(from, "width");
        source->height = side_field(from, "height");
        source->bytes  = bytes_field(from, "rgb");
    }
    return source;
}

}  // namespace

std::vector<std::shared_ptr<const ImageSource>> images_from_js(const Napi::Value& value) {
    if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), "images must be an array.");
    const auto                                      array = value.As<Napi::Array>();
    std::vector<std::shared_ptr<const ImageSource>> images;
    for (uint32_t i = 0; i < array.Length(); ++i) images.push_back(image_from_js(array.Get(i)));
    return images;
}

Napi::Value media_to_js(Napi::Env env, const std::shared_ptr<const Media>& media) {
    if (!media) return env.Null();
    // V8 must know about these megabytes to free values in time.
    const auto n_bytes = static_cast<int64_t>(bytes_of(*media));
    auto       external =
        Napi::External<Held>::New(env, new Held(media), [n_bytes](Napi::Env from, Held* held) {
            Napi::MemoryManagement::AdjustExternalMemory(from, -n_bytes);
            delete held;
        });
    Napi::MemoryManagement::AdjustExternalMemory(env, n_bytes);
    external.TypeTag(&kMediaTag);
    return external;
}

std::shared_ptr<const Media> media_from_js(const Napi::Value& value) {
    if (value.IsNull()) return nullptr;
    if (!value.IsExternal() || !value.As<Napi::External<Held>>().CheckTypeTag(&kMediaTag)) {
        throw Napi::TypeError::New(value.Env(), "media must be what tokenizePrompt() returned.");
    }
    return *value.As<Napi::External<Held>>().Data();
}

}  // namespace chasqui
