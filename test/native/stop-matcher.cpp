#include "check.h"

#include "core/stop-matcher.h"

#include <random>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test passes("stop-matcher: without stop strings everything passes at once", [] {
    StopMatcher matcher({});
    expect_equal(matcher.push("END"), "END");
    expect_equal(matcher.flush(), "");
});

const Test in_format("stop-matcher: in a format only its own stop strings apply", [] {
    StopMatcher matcher({"END"}, {"</s>"});
    expect_equal(matcher.push("the END E", true), "the END E");
    expect_equal(matcher.push("E", false), "");
    expect_equal(matcher.push("N<", true), "EN");
    expect_equal(matcher.push("/s>", true), "");
    expect_equal(matcher.matched(), "</s>");
});

const Test holds("stop-matcher: what may become a stop string is held back, then let go", [] {
    StopMatcher matcher({"END"});
    expect_equal(matcher.push("the E"), "the ");
    expect_equal(matcher.push("N"), "");
    expect_equal(matcher.push("ough"), "ENough");
    expect_equal(matcher.matched(), "");
});

const Test matches("stop-matcher: a stop string over several pieces ends the text before it", [] {
    StopMatcher matcher({"</s>"});
    expect_equal(matcher.push("bye<"), "bye");
    expect_equal(matcher.push("/s"), "");
    expect_equal(matcher.push("> and more"), "");
    expect_equal(matcher.matched(), "</s>");
    expect_equal(matcher.push("again"), "");
    expect_equal(matcher.flush(), "");
});

const Test first_wins("stop-matcher: of several stop strings the one that starts first wins", [] {
    StopMatcher matcher({"world", "lo w"});
    expect_equal(matcher.push("hello world"), "hel");
    expect_equal(matcher.matched(), "lo w");
});

const Test flushes("stop-matcher: at the end what was held back is text after all", [] {
    StopMatcher matcher({"aab"});
    expect_equal(matcher.push("xaa"), "x");
    expect_equal(matcher.flush(), "aa");
});

const Test any_split("stop-matcher: the text ends where a search in the whole text would end it", [] {
    std::mt19937 random(11);
    const auto   letters = [&](size_t length) {
        std::string text;
        for (size_t i = 0; i < length; ++i) text += "ab"[random() % 2];
        return text;
    };
    for (int round = 0; round < 3000; ++round) {
        const std::string whole = letters(30), stop = letters(1 + random() % 6);
        StopMatcher       matcher({stop});
        std::string       shown;
        for (size_t at = 0; at < whole.size();) {
            const size_t length = 1 + random() % 5;
            shown += matcher.push(whole.substr(at, length));
            at += length;
        }
        shown += matcher.flush();
        expect_equal(shown, whole.substr(0, whole.find(stop)));
    }
});

}  // namespace
