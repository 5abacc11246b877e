// Runs all tests and prints one line for each: "ok <name>" or "not ok <name>: <error>". test/native/core.test.ts
// converts the lines to uvu tests. An argument selects tests by a part of their name.
#include "check.h"

#include <exception>
#include <iostream>
#include <vector>

namespace chasqui::test {
namespace {

struct Case {
    std::string           name;
    std::function<void()> body;
};

// A function's static, because tests in other files register before main begins, in no particular order.
std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

bool run(const Case& test) {
    std::string problem;
    try {
        test.body();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    if (problem.empty()) {
        std::cout << "ok " << test.name << std::endl;
        return true;
    }
    for (char& c : problem) {
        c = c == '\n' ? ' ' : c;
    }
    std::cout << "not ok " << test.name << ": " << problem << std::endl;
    return false;
}

}  // namespace

Test::Test(std::string name, std::function<void()> body) { cases().push_back({std::move(name), std::move(body)}); }

}  // namespace chasqui::test

int main(int argc, char** argv) {
    bool all_passed = true;
    for (const auto& test : chasqui::test::cases()) {
        if (argc < 2 || test.name.find(argv[1]) != std::string::npos) {
            all_passed = chasqui::test::run(test) && all_passed;
        }
    }
    return all_passed ? 0 : 1;
}
