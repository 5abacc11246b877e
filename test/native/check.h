// Thread: main. What the C++ tests are written with.
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace chasqui::test {

/// One test; declare it at namespace scope: `const Test splits("utf8-buffer: splits nothing", [] { ... });`
class Test {
public:
    Test(std::string name, std::function<void()> body);
};

[[noreturn]] inline void fail(const std::string& what, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
    throw std::runtime_error(what + " (" + file + ":" + std::to_string(line) + ")");
}

inline void expect(bool condition, const std::string& what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    if (!condition) {
        fail("expected " + what, file, line);
    }
}

/// Compares by ==; both values must be printable by <<.
template <typename Actual, typename Expected>
void expect_equal(const Actual& actual, const Expected& expected, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (!(actual == expected)) {
        std::ostringstream text;
        text << "expected " << expected << ", got " << actual;
        fail(text.str(), file, line);
    }
}

/// `body` must throw an `Error`, which is returned for closer inspection.
template <typename Error>
Error expect_throws(const std::function<void()>& body, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    try {
        body();
    } catch (const Error& error) {
        return error;
    }
    fail("expected an exception", file, line);
}

}  // namespace chasqui::test
