// Thread: JS.
#pragma once

#include "../core/error-code.h"

#include <napi.h>

#include <exception>
#include <optional>
#include <string>

namespace chasqui {

// An error of another thread, to be passed to JavaScript.
struct CaughtError {
    std::optional<ErrorCode> code;
    std::string              message;
    std::optional<size_t>    image = std::nullopt;  // index of the job's image that caused it
    // For a prompt that does not fit.
    std::optional<size_t> n_prompt = std::nullopt, n_context = std::nullopt;

    static CaughtError current();
};

// A JavaScript Error with a `code` of the catalogue.
Napi::Error to_js_error(Napi::Env env, const CaughtError& error);

// Runs `function` and converts its exceptions to JavaScript exceptions.
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
