// Thread: JS.
#pragma once

#include "../core/error-code.h"

#include <napi.h>

#include <exception>
#include <optional>
#include <string>

namespace chasqui {

// An error on another thread, kept until it is handed to JavaScript.
struct CaughtError {
    std::optional<ErrorCode> code;
    std::string              message;
    std::optional<size_t>    image = std::nullopt;  // which of the job's images it is about
    // Of a prompt that does not fit.
    std::optional<size_t> n_prompt = std::nullopt, n_context = std::nullopt;

    static CaughtError current();
};

// A JavaScript Error whose `code` is the catalogue's.
Napi::Error to_js_error(Napi::Env env, const CaughtError& error);

// Runs `function`; whatever it throws becomes a JavaScript exception.
template <typename Function>
auto guarded(Napi::Env env, Function&& function) {
    try {
        return function();
    } catch (const Napi::Error&) {
        throw;
    } catch (...) {
        throw to_js_error(env, CaughtError::current());
    }
}

}  // namespace chasqui
