#include "error.h"

#include "../core/error-code.h"

#include <new>
#include <system_error>

namespace chasqui {

CaughtError CaughtError::current() {
    try {
        throw;
    } catch (const LengthError& error) {
        return {error.code(), error.what(), std::nullopt, error.n_prompt(), error.n_context()};
    } catch (const Error& error) {
        return {error.code(), error.what(), error.image()};
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, "There is not enough memory."};
    } catch (const std::system_error& error) {
        // Threads need memory for their stacks.
        if (error.code() == std::errc::resource_unavailable_try_again)
            return {ErrorCode::out_of_memory, "There is not enough memory for another thread."};
        return {std::nullopt, error.what()};
    } catch (const std::exception& error) {
        return {std::nullopt, error.what()};
    } catch (...) {
        return {std::nullopt, "An unknown error was thrown in native code."};
    }
}

Napi::Error to_js_error(Napi::Env env, const CaughtError& error) {
    Napi::Error result = Napi::Error::New(env, error.message);
    if (error.image) result.Set("imageIndex", Napi::Number::New(env, static_cast<double>(*error.image)));
    if (error.n_prompt) result.Set("promptTokens", Napi::Number::New(env, static_cast<double>(*error.n_prompt)));
    if (error.n_context) result.Set("contextLength", Napi::Number::New(env, static_cast<double>(*error.n_context)));
    if (error.code) result.Set("code", Napi::String::New(env, to_string(*error.code)));
    return result;
}

}  // namespace chasqui
