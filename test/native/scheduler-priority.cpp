#include "scheduling.h"

#include <chrono>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test cancel_waiting("scheduler: a sequence can be removed while it waits", [] {
    Scheduler scheduler(options(1, 100));
    scheduler.submit(sequence(1, 5));
    scheduler.submit(sequence(2, 5));
    step(scheduler);
    expect_equal(scheduler.n_waiting(), size_t{1});
    scheduler.remove(scheduler.find(2));
    expect(scheduler.find(2) == nullptr, "no sequence 2");
    scheduler.remove(scheduler.find(1));
    expect(scheduler.idle(), "idle");
});

const Test priorities("scheduler: of waiting sequences, the higher priority is admitted first", [] {
    Scheduler scheduler(options(1, 100));
    scheduler.submit(sequence(1, 5));
    step(scheduler);
    scheduler.submit(sequence(2, 5, -1));
    scheduler.submit(sequence(3, 5, 0));
    scheduler.remove(scheduler.find(1));
    step(scheduler);
    expect(runs(scheduler, 3) && !runs(scheduler, 2), "3 before 2");
});

const Test aging("scheduler: a sequence that has waited long enough comes before a new one of higher priority", [] {
    Scheduler  scheduler(options(1, 100));
    const auto now = Clock::now();
    scheduler.submit(sequence(1, 5, 0));
    scheduler.submit(sequence(2, 5, 2));
    scheduler.find(1)->submitted_at = now - std::chrono::seconds(25);
    scheduler.find(2)->submitted_at = now;
    scheduler.plan(now);
    expect(runs(scheduler, 1), "the one that waited");
});

const Test preempts("scheduler: a higher priority preempts the youngest of the lowest, which continues later", [] {
    Scheduler scheduler(options(2, 100));
    scheduler.submit(sequence(1, 40));
    scheduler.submit(sequence(2, 40));
    step(scheduler);
    step(scheduler);
    const auto before = scheduler.find(2)->tokens;
    scheduler.submit(sequence(3, 40, 5));
    step(scheduler);
    expect(runs(scheduler, 1) && runs(scheduler, 3) && !runs(scheduler, 2), "2 gave way");
    expect(scheduler.find(2)->tokens == before, "and has kept its tokens");
    expect_equal(scheduler.n_preemptions(), uint64_t{1});
    scheduler.remove(scheduler.find(1));
    step(scheduler);
    expect(runs(scheduler, 2), "2 runs again");
    expect_equal(scheduler.find(2)->tokens.size(), before.size() + 1);
    expect_equal(scheduler.find(2)->finish().cached_tokens, 0);
});

const Test aging_holds("scheduler: one admitted for its long wait keeps its slot from a higher priority", [] {
    Scheduler  scheduler(options(1, 100));
    const auto now = Clock::now();
    scheduler.submit(sequence(1, 5, 0));
    scheduler.find(1)->submitted_at = now - std::chrono::seconds(25);
    compute(scheduler, scheduler.plan(now));
    scheduler.submit(sequence(2, 5, 2));
    scheduler.find(2)->submitted_at = now;
    compute(scheduler, scheduler.plan(now));
    expect(runs(scheduler, 1) && !runs(scheduler, 2), "1 stays");
    scheduler.submit(sequence(3, 5, 3));
    scheduler.find(3)->submitted_at = now;
    compute(scheduler, scheduler.plan(now));
    expect(runs(scheduler, 3) && !runs(scheduler, 1), "3 is higher than what waiting had made of it");
});

const Test keeps_slot("scheduler: no sequence is preempted for one that waits for a prefix in flight", [] {
    Scheduler            scheduler(options(2, 100));
    std::vector<TokenId> shared(300, 7);
    scheduler.submit(sequence(1, shared));
    scheduler.submit(sequence(2, 40));
    step(scheduler);
    shared.push_back(8);
    scheduler.submit(sequence(3, shared, 5));
    step(scheduler);
    expect(runs(scheduler, 1) && runs(scheduler, 2), "both go on");
});

const Test paused_prompt("scheduler: no sequence waits for the prefix of a paused one", [] {
    Scheduler            scheduler(options(2, 100));
    std::vector<TokenId> shared(300, 7);
    scheduler.submit(sequence(1, shared));
    step(scheduler);
    scheduler.pause(*scheduler.find(1), true);
    shared.push_back(8);
    scheduler.submit(sequence(2, shared));
    step(scheduler);
    expect(runs(scheduler, 2), "2 computes it itself");
});

const Test behind_equal("scheduler: a sequence that cannot preempt does not block a higher priority behind it", [] {
    Scheduler  scheduler(options(1, 100));
    const auto now = Clock::now();
    scheduler.submit(sequence(1, 5, 1));
    scheduler.find(1)->submitted_at = now;
    compute(scheduler, scheduler.plan(now));
    scheduler.submit(sequence(2, 5, 0));
    scheduler.find(2)->submitted_at = now - std::chrono::seconds(60);
    scheduler.submit(sequence(3, 5, 3));
    scheduler.find(3)->submitted_at = now;
    compute(scheduler, scheduler.plan(now));
    expect(runs(scheduler, 3), "3");
});

const Test equal_priority("scheduler: equal priorities do not preempt each other", [] {
    Scheduler scheduler(options(1, 100));
    scheduler.submit(sequence(1, 40, 3));
    step(scheduler);
    scheduler.submit(sequence(2, 40, 3));
    step(scheduler);
    expect(runs(scheduler, 1) && !runs(scheduler, 2), "1 stays");
});

const Test paused_later("scheduler: one that waits for long already takes the slot of a sequence that is paused later", [] {
    Scheduler scheduler(options(1, 100));
    scheduler.submit(sequence(1, 5));
    step(scheduler);
    scheduler.submit(sequence(2, 5, -1));
    for (int i = 0; i < 3; ++i) step(scheduler);
    expect(runs(scheduler, 1), "1 stays");
    scheduler.pause(*scheduler.find(1), true);
    step(scheduler);
    expect(runs(scheduler, 2) && !runs(scheduler, 1), "2 runs");
});

const Test resumed("scheduler: a sequence that lost its slot while it was paused takes it from a lower priority", [] {
    Scheduler scheduler(options(1, 100));
    scheduler.submit(sequence(1, 5, 5));
    step(scheduler);
    scheduler.submit(sequence(2, 5));
    scheduler.pause(*scheduler.find(1), true);
    for (int i = 0; i < 3; ++i) step(scheduler);
    expect(runs(scheduler, 2), "2 runs meanwhile");
    scheduler.pause(*scheduler.find(1), false);
    step(scheduler);
    expect(runs(scheduler, 1) && !runs(scheduler, 2), "1 runs again");
});

}  // namespace
