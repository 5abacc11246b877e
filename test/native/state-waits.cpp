// How long jobs wait for their states from disk.
#include "check.h"

#include "core/state-waits.h"

#include <chrono>
#include <cstdint>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Ids = std::vector<uint32_t>;

const StateWaits::Clock::time_point kStart{std::chrono::hours(1)};
constexpr auto                      kLong = StateWaits::kMaxSilence;
constexpr std::chrono::seconds      kShort{1};

const Test in_time("state-waits: a disk that answers in time holds nobody up", [] {
    StateWaits waits;
    expect(!waits.until(), "nobody waits");
    waits.add(1, kStart);
    waits.add(2, kStart + kShort);
    expect(waits.until() == kStart + kLong, "from the first one on");
    waits.responded({1}, kStart + kLong - kShort);
    expect(waits.take_overdue(kStart + kLong).empty(), "an answer begins the time anew for the others");
    expect(waits.until() == kStart + kLong - kShort + kLong, "from the answer on");
    waits.responded({2}, kStart + kLong);
    expect(!waits.until() && waits.may_request(), "all have been responded");
});

const Test too_late("state-waits: jobs are computed when the disk does not answer", [] {
    StateWaits waits;
    waits.add(1, kStart);
    waits.add(2, kStart + kShort);
    expect(waits.take_overdue(kStart + kLong - kShort).empty(), "not before their time");
    expect(waits.take_overdue(kStart + kLong) == Ids{1, 2}, "all that wait");
    expect(waits.take_overdue(kStart + 2 * kLong).empty() && !waits.until(), "and once only");
    expect(!waits.may_request(), "nothing more is asked of it");
    waits.responded({1}, kStart + 3 * kLong);
    expect(waits.may_request(), "until it answers");
});

}  // namespace
