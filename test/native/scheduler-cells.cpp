#include "scheduling.h"

#include <map>
#include <random>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

SchedulerOptions sharing(size_t n_slots, size_t max_cells) {
    SchedulerOptions shared = options(n_slots, 512);
    shared.cache.max_cells  = max_cells;
    return shared;
}

size_t n_emptied(const Plan& plan) {
    size_t n_slots = 0;
    for (const Placement& placement : plan.placements) n_slots += placement.source == Placement::Source::none ? 1 : 0;
    return n_slots;
}

const Test fewer_run("scheduler: with few cells in all slots, no more sequences run than have cells", [] {
    Scheduler scheduler(sharing(8, 330));
    for (uint32_t id = 1; id <= 8; ++id) scheduler.submit(sequence(id, 100));
    step(scheduler);
    expect_equal(scheduler.n_running(), size_t{3});  // a sixteenth is left for them to grow
    scheduler.remove(scheduler.find(1));
    step(scheduler);
    expect(runs(scheduler, 4), "the next has the cells of the one that is over");
    expect_equal(scheduler.n_running(), size_t{3});
});

const Test unlimited("scheduler: without a number of cells all slots run", [] {
    Scheduler scheduler(sharing(8, 0));
    for (uint32_t id = 1; id <= 8; ++id) scheduler.submit(sequence(id, 100));
    step(scheduler);
    expect_equal(scheduler.n_running(), size_t{8});
});

const Test in_turn("scheduler: a sequence that waits for cells is not passed over by a shorter one", [] {
    Scheduler scheduler(sharing(4, 320));
    scheduler.submit(sequence(1, 200));
    scheduler.submit(sequence(2, 200));
    scheduler.submit(sequence(3, 10));
    step(scheduler);
    expect(runs(scheduler, 1) && !runs(scheduler, 2) && !runs(scheduler, 3), "3 waits behind 2");
    scheduler.remove(scheduler.find(1));
    step(scheduler);
    expect(runs(scheduler, 2) && runs(scheduler, 3), "both");
});

const Test alone("scheduler: alone, a sequence has all cells", [] {
    Scheduler scheduler(sharing(2, 320));
    scheduler.submit(sequence(1, 319));
    step(scheduler);
    expect(runs(scheduler, 1), "1");
});

const Test outgrown("scheduler: when running sequences outgrow the cells, the one admitted last gives way", [] {
    Scheduler scheduler(sharing(2, 320));
    scheduler.submit(sequence(1, 140));
    scheduler.submit(sequence(2, 140));
    for (int i = 0; i < 40 && scheduler.n_preemptions() == 0; ++i) {
        step(scheduler);
        expect(scheduler.cache().n_slot_tokens() <= 320, "no more than there are");
    }
    expect(runs(scheduler, 1) && !runs(scheduler, 2), "2 gave way");
    const std::vector<TokenId> before = scheduler.find(2)->tokens;
    expect_equal(scheduler.n_preemptions(), uint64_t{1});
    for (int i = 0; i < 20; ++i) step(scheduler);
    expect(!runs(scheduler, 2), "and does not come back for a few steps");
    expect(scheduler.find(2)->tokens == before, "with its tokens");
    scheduler.remove(scheduler.find(1));
    step(scheduler);
    expect(runs(scheduler, 2), "but when there are cells for it");
});

const Test priority("scheduler: a higher priority gets cells from a lower one", [] {
    Scheduler scheduler(sharing(4, 320));
    scheduler.submit(sequence(1, 150));
    scheduler.submit(sequence(2, 100));
    step(scheduler);
    scheduler.submit(sequence(3, 100, 5));
    step(scheduler);
    expect(runs(scheduler, 1) && runs(scheduler, 3) && !runs(scheduler, 2), "2 gave way to 3");
});

const Test in_vain("scheduler: nobody gives up cells that are too few for whom they are wanted", [] {
    Scheduler scheduler(sharing(4, 320));
    scheduler.submit(sequence(1, 200, 9));
    scheduler.submit(sequence(2, 60));
    step(scheduler);
    scheduler.submit(sequence(3, 200, 5));
    step(scheduler);
    expect(runs(scheduler, 1) && runs(scheduler, 2) && !runs(scheduler, 3), "2 goes on");
    expect_equal(scheduler.n_preemptions(), uint64_t{0});
});

const Test paused("scheduler: a paused sequence gives up its cells for one that waits for them", [] {
    Scheduler scheduler(sharing(4, 320));
    scheduler.submit(sequence(1, 250));
    step(scheduler);
    scheduler.pause(*scheduler.find(1), true);
    scheduler.submit(sequence(2, 250));
    step(scheduler);
    expect(runs(scheduler, 2) && !runs(scheduler, 1), "2 runs");
});

const Test oldest_prefix("scheduler: cached prefixes give up their cells, the oldest first", [] {
    Scheduler scheduler(sharing(4, 320));
    for (uint32_t id = 1; id <= 2; ++id) {
        scheduler.submit(sequence(id, 100));
        step(scheduler);
        scheduler.remove(scheduler.find(id));
    }
    expect_equal(scheduler.cache().n_slot_tokens(), size_t{200});
    scheduler.submit(sequence(3, 200));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(n_emptied(plan), size_t{2});  // the slot of 3, and that of 1
    compute(scheduler, plan);
    expect_equal(scheduler.cache().n_slot_tokens(), size_t{300});
    const auto again = sequence(2, 100);
    expect(scheduler.cache().n_cached_tokens(again->tokens, nullptr) > 0, "2 is cached still");
    const auto gone = sequence(1, 100);
    expect_equal(scheduler.cache().n_cached_tokens(gone->tokens, nullptr), size_t{0});
});

const Test saves("scheduler: the cells that a cached prefix gives up become a snapshot where there is memory for it", [] {
    SchedulerOptions options = sharing(4, 320);
    options.cache.max_snapshot_bytes = 1000;
    Scheduler scheduler(options);
    scheduler.submit(sequence(1, 100));
    step(scheduler);
    scheduler.remove(scheduler.find(1));
    scheduler.submit(sequence(2, 300));
    step(scheduler);
    expect_equal(scheduler.cache().n_snapshots(), size_t{1});
    const auto again = sequence(1, 100);
    expect(scheduler.cache().n_cached_tokens(again->tokens, nullptr) > 0, "1 is cached still");
});

// For any arrivals, ends and pauses, the cells suffice and all sequences finish.
const Test random_load("scheduler: 3,000 random steps keep to the cells, and all sequences end", [] {
    std::mt19937 random(7);
    SchedulerOptions options = sharing(6, 400);
    options.cache.max_snapshot_bytes = 500;
    Scheduler scheduler(options);
    std::map<uint32_t, size_t> left;  // tokens to sample
    uint32_t                   next_id = 1;
    size_t                     n_ended = 0;
    for (int round = 0; round < 3000 || !scheduler.idle(); ++round) {
        expect(round < 30000, "an end");
        if (round < 3000 && left.size() < 12 && random() % 3 == 0) {
            left[next_id] = 1 + random() % 80;
            scheduler.submit(sequence(next_id, 1 + random() % 300, static_cast<int32_t>(random() % 3)));
            ++next_id;
        }
        const Plan plan = scheduler.plan(Clock::now());
        scheduler.computed(plan, 10);
        scheduler.cache().check_invariants();
        expect(scheduler.cache().n_slot_tokens() <= 400, "no more cells than there are");
        for (const PlanRow& row : plan.rows) {
            if (row.sequence->n_pending() > 0) continue;
            const uint32_t id = row.sequence->id();
            row.sequence->accept(2, "x", false, 400);
            const bool at_end = row.sequence->tokens.size() >= 400;
            if (--left[id] > 0 && !at_end) continue;
            left.erase(id);
            ++n_ended;
            scheduler.remove(row.sequence);
        }
    }
    expect_equal(n_ended, static_cast<size_t>(next_id - 1));
    expect(n_ended > 50, "many");
});

}  // namespace
