#include "check.h"

#include "core/snapshot-points.h"

#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Points = std::vector<size_t>;

void expect_points(const Points& message_starts, size_t n_prompt, const Points& expected) {
    const Points points = snapshot_points(message_starts, n_prompt);
    expect_equal(points.size(), expected.size());
    expect(points == expected, "the expected positions");
}

const Test chat("snapshot-points: after the instructions, and where the completion begins", [] {
    expect_points({0, 60, 80}, 83, {60, 80});
    expect_points({0, 60, 80, 100, 120}, 123, {60, 120});
});

const Test now_and_then("snapshot-points: now and then in between, ever further apart", [] {
    Points starts;
    for (size_t at = 0; at < 5000; at += 50) starts.push_back(at);
    expect_points(starts, 4953, {50, 350, 650, 950, 1250, 1600, 2000, 2500, 3150, 3950, 4950});
});

const Test stable("snapshot-points: those of a conversation include those of its beginning", [] {
    Points starts{0, 40}, earlier;
    for (size_t turn = 1; turn < 60; ++turn) {
        starts.push_back(starts.back() + 20 + turn * 7 % 50);
        Points points = snapshot_points(starts, starts.back() + 3);
        expect_equal(points.back(), starts.back());
        points.pop_back();
        for (size_t i = 0; i + 1 < earlier.size(); ++i) expect_equal(points.at(i), earlier[i]);
        earlier = std::move(points);
    }
});

const Test plain("snapshot-points: a prompt without messages, a little before its end", [] {
    expect_points({}, 200, {196});
    expect_points({0}, 200, {196});
    expect_points({0, 60}, 200, {60, 196});
});

const Test short_ones("snapshot-points: nothing of what is computed at once", [] {
    expect_points({}, 0, {});
    expect_points({0, 8, 20}, 30, {});
    expect_points({0, 8, 20}, 36, {});
});

}  // namespace
