#include "scheduling.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test nothing("scheduler: with nothing submitted it plans nothing", [] {
    Scheduler scheduler(options(4, 100));
    expect(scheduler.idle(), "idle");
    expect(scheduler.plan(Clock::now()).rows.empty(), "an empty plan");
});

const Test full_batch("scheduler: a prompt takes the whole batch while no sequence decodes", [] {
    Scheduler scheduler(options(4, 512));
    scheduler.submit(sequence(1, 1200));
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 1), size_t{512});
});

const Test alone_slices("scheduler: prompts alone take what is expected to take twenty times the target", [] {
    Scheduler scheduler(options(4, 2048));
    scheduler.submit(sequence(1, 10000));
    Plan plan = scheduler.plan(Clock::now());
    expect_equal(tokens_of(plan, 1), size_t{512});  // nothing has been measured yet
    compute(scheduler, plan, 512 * 10);             // 10 ms a token
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 1), size_t{200});
});

const Test alone_large("scheduler: on a large model prompts alone go by few tokens at a time", [] {
    Scheduler scheduler(options(4, 2048));
    scheduler.submit(sequence(1, 10000));
    compute(scheduler, scheduler.plan(Clock::now()), 512 * 1000);  // a second a token
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 1), size_t{16});
});

const Test scored_slices("scheduler: a scored prompt takes as many tokens as there are rows of logits", [] {
    SchedulerOptions few = options(3, 512);
    few.n_outputs        = 8;
    Scheduler scheduler(few);
    Job       job = sequence(1, 30)->job();
    job.prompt_logprobs = 0;
    scheduler.submit(std::make_unique<Sequence>(std::move(job)));
    scheduler.submit(sequence(2, 1));
    std::vector<size_t> slices;
    while (scheduler.find(1)->scores_prompt()) {
        const Plan plan = scheduler.plan(Clock::now());
        size_t     n_outputs = 0;
        for (const PlanRow& row : plan.rows) n_outputs += row.n_outputs();
        expect(n_outputs <= few.n_outputs, "no more rows of logits than there are");
        slices.push_back(tokens_of(plan, 1));
        compute(scheduler, plan);
        scheduler.find(1)->n_scored = std::min<size_t>(scheduler.find(1)->n_computed, 29);
    }
    expect_equal(slices.size(), size_t{5});
    expect_equal(slices[0], size_t{7});
    expect(!scheduler.find(1)->scores_prompt(), "all are reported");
});

const Test slices_end("scheduler: slices of a prompt end where a snapshot is to be taken", [] {
    SchedulerOptions exact = options(2, 512);
    exact.cache            = {2, 0, 100, 10, Truncation::never};
    Scheduler scheduler(exact);
    auto      one = sequence(1, 600);
    Job       job = one->job();
    job.snapshot_at = {100, 590};
    scheduler.submit(std::make_unique<Sequence>(std::move(job)));
    std::vector<size_t> slices, kept;
    for (int i = 0; i < 4; ++i) {
        const Plan plan = scheduler.plan(Clock::now());
        slices.push_back(tokens_of(plan, 1));
        for (const Snapshot& snapshot : scheduler.computed(plan, 10)) {
            kept.push_back(scheduler.find(1)->n_computed);
            expect_equal(snapshot.slot, scheduler.find(1)->slot);
        }
    }
    expect(slices == std::vector<size_t>{100, 490, 10, 0}, "three slices");
    expect(kept == std::vector<size_t>{100, 590}, "two snapshots");
});

const Test in_order("scheduler: prompts share a batch in order of arrival", [] {
    Scheduler scheduler(options(4, 100));
    for (uint32_t id = 1; id <= 3; ++id) scheduler.submit(sequence(id, 60));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(tokens_of(plan, 1), size_t{60});
    expect_equal(tokens_of(plan, 2), size_t{40});
    expect_equal(tokens_of(plan, 3), size_t{0});
});

const Test none_left_out("scheduler: beside decodes every prompt with a slot gets a token", [] {
    Scheduler scheduler(options(4, 100));
    scheduler.submit(sequence(1, 5));
    step(scheduler);
    for (uint32_t id = 2; id <= 4; ++id) scheduler.submit(sequence(id, 1000));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(plan.rows.size(), size_t{4});
    expect(tokens_of(plan, 2) > 1, "the budget for the first");
    expect_equal(tokens_of(plan, 3), size_t{1});
    expect_equal(tokens_of(plan, 4), size_t{1});
});

const Test decode_first("scheduler: every decoding sequence gets its token, whatever prompts arrive", [] {
    Scheduler scheduler(options(4, 128));
    scheduler.submit(sequence(1, 10));
    scheduler.submit(sequence(2, 10));
    step(scheduler);
    scheduler.submit(sequence(3, 5000));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(tokens_of(plan, 1), size_t{1});
    expect_equal(tokens_of(plan, 2), size_t{1});
    expect(tokens_of(plan, 3) > 0 && tokens_of(plan, 3) <= 126, "a slice of the prompt");
});

const Test learns("scheduler: beside decoding, prompt slices are as long as the target time allows", [] {
    Scheduler scheduler(options(4, 2048));
    scheduler.submit(sequence(1, 500));
    compute(scheduler, scheduler.plan(Clock::now()), 1000);  // 2 ms a prompt token
    compute(scheduler, scheduler.plan(Clock::now()), 20);    // a decode step of 20 ms leaves 80 for prompts
    scheduler.submit(sequence(2, 1000));
    // 40 fit, but a slice of 48 beside the reserved token takes less than four times as long.
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), size_t{49});
});

const Test fits("scheduler: slices longer than the fair one fit the target time", [] {
    Scheduler scheduler(options(4, 2048, 400));
    scheduler.submit(sequence(1, 500));
    compute(scheduler, scheduler.plan(Clock::now()), 1000);
    compute(scheduler, scheduler.plan(Clock::now()), 20);
    scheduler.submit(sequence(2, 1000));
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), size_t{189});  // 190 fit; all but the first go by fours
});

const Test drafted("scheduler: steps with drafts do not count as what decoding takes", [] {
    Scheduler scheduler(options(4, 2048, 400));
    scheduler.submit(sequence(1, 500));
    compute(scheduler, scheduler.plan(Clock::now()), 1000);
    compute(scheduler, scheduler.plan(Clock::now()), 20);
    Plan plan = scheduler.plan(Clock::now());
    plan.rows.at(0).draft = {7, 7, 7};
    compute(scheduler, plan, 300);
    scheduler.submit(sequence(2, 1000));
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), size_t{189});
});

const Test progress("scheduler: prompts progress even when decoding alone takes longer than the target", [] {
    Scheduler scheduler(options(4, 2048, 10));
    scheduler.submit(sequence(1, 100));
    compute(scheduler, scheduler.plan(Clock::now()), 1000);
    compute(scheduler, scheduler.plan(Clock::now()), 500);
    scheduler.submit(sequence(2, 1000));
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), size_t{17});
});

const Test tiny_batch("scheduler: a prompt is computed however few tokens a step may have", [] {
    for (size_t n_batch = 1; n_batch <= 6; ++n_batch) {
        Scheduler scheduler(options(1, n_batch));
        scheduler.submit(sequence(1, 20));
        for (int i = 0; i < 20; ++i) step(scheduler);
        expect(scheduler.find(1)->n_sampled() > 0, "it comes to its first token");
    }
});

const Test fewer_decode("scheduler: what many took to decode is not taken from a prompt beside one", [] {
    Scheduler scheduler(options(4, 2048, 10));
    scheduler.submit(sequence(1, 100));
    compute(scheduler, scheduler.plan(Clock::now()), 2000);  // 20 ms a prompt token
    compute(scheduler, scheduler.plan(Clock::now()), 1500);  // a decode step, as if there were many
    scheduler.submit(sequence(2, 1000));
    for (int i = 0; i < 20; ++i) {
        const Plan plan = scheduler.plan(Clock::now());
        expect_equal(tokens_of(plan, 2), size_t{17});
        const double noise = i % 2 == 0 ? 0.99 : 1.01;
        compute(scheduler, plan, noise * (150 + 20 * 17));
    }
    scheduler.remove(scheduler.find(1));
    // Ten tokens fit, and sixteen are the fewest. With what the steps took beyond decoding it would be more.
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), size_t{16});
});

const Test not_loaded("scheduler: tokens that were cached and could not be loaded do not count as cached", [] {
    Scheduler scheduler(options(1, 2048));
    scheduler.submit(sequence(1, 200));
    step(scheduler);
    scheduler.remove(scheduler.find(1));
    std::vector<TokenId> prompt(200, 1001);
    prompt.push_back(7);
    scheduler.submit(sequence(2, prompt));
    Plan plan = scheduler.plan(Clock::now());
    expect_equal(scheduler.find(2)->n_cached(), size_t{200});
    scheduler.placement_failed(plan.placements[0].slot, plan);
    expect_equal(scheduler.find(2)->finish().cached_tokens, 0);
    expect_equal(scheduler.find(2)->n_pending(), prompt.size());
});

const Test delay("scheduler: the first step is delayed by a fiftieth of its expected time, at most 5 ms", [] {
    const auto delay_of = [](const Scheduler& scheduler) { return scheduler.batching_delay().count(); };
    Scheduler  scheduler(options(3, 2048));
    scheduler.submit(sequence(1, 100));
    expect_equal(delay_of(scheduler), 0.0);  // nothing has been measured yet
    compute(scheduler, scheduler.plan(Clock::now()), 200);
    scheduler.remove(scheduler.find(1));
    expect_equal(delay_of(scheduler), 0.0);  // no sequence waits
    scheduler.submit(sequence(2, 100));
    expect_equal(delay_of(scheduler), 4.0);
    scheduler.submit(sequence(3, 1000));
    expect_equal(delay_of(scheduler), 5.0);
    scheduler.submit(sequence(4, 100));
    expect_equal(delay_of(scheduler), 0.0);  // a fourth would find no slot
    for (uint32_t id = 2; id <= 4; ++id) scheduler.remove(scheduler.find(id));
    scheduler.submit(sequence(1, 150));   // of which 100 are still there
    expect_equal(delay_of(scheduler), 2.0);
});

const Test no_delay("scheduler: a deterministic step is not delayed", [] {
    SchedulerOptions alone = options(3, 100);
    alone.deterministic    = true;
    Scheduler scheduler(alone);
    scheduler.submit(sequence(1, 100));
    compute(scheduler, scheduler.plan(Clock::now()), 200);
    scheduler.submit(sequence(2, 100));
    expect_equal(scheduler.batching_delay().count(), 0.0);
});

const Test short_remainder("scheduler: the short remainder of a prompt is computed with the slice before it", [] {
    for (const auto& [n_prompt, n_first] : {std::pair{65, 65}, {66, 49}}) {
        Scheduler scheduler(options(4, 2048));
        scheduler.submit(sequence(1, 500));
        compute(scheduler, scheduler.plan(Clock::now()), 1000);
        compute(scheduler, scheduler.plan(Clock::now()), 20);
        scheduler.submit(sequence(2, n_prompt));
        expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), static_cast<size_t>(n_first));
    }
});

const Test slot_order("scheduler: rows are in order of their slots, which stay close together", [] {
    Scheduler scheduler(options(4, 100));
    for (uint32_t id = 1; id <= 4; ++id) scheduler.submit(sequence(id, 5));
    step(scheduler);
    scheduler.remove(scheduler.find(2));
    scheduler.remove(scheduler.find(3));
    scheduler.submit(sequence(5, 5));
    const Plan plan = scheduler.plan(Clock::now());
    for (size_t i = 1; i < plan.rows.size(); ++i) {
        expect(plan.rows[i - 1].sequence->slot < plan.rows[i].sequence->slot, "ascending slots");
    }
});

const Test shared_prefill("scheduler: a prefix that several sequences share is computed once", [] {
    Scheduler scheduler(options(4, 100));
    for (uint32_t id = 1; id <= 3; ++id) {
        std::vector<TokenId> prompt(300, 7);
        prompt.insert(prompt.end(), 10, static_cast<TokenId>(100 + id));
        scheduler.submit(sequence(id, prompt));
    }
    size_t n_computed = 0;
    for (int i = 0; i < 10; ++i) {
        const Plan plan = scheduler.plan(Clock::now());
        for (const PlanRow& row : plan.rows) {
            if (row.sequence->n_sampled() == 0) n_computed += row.n_tokens;
        }
        compute(scheduler, plan);
    }
    expect_equal(scheduler.n_running(), size_t{3});
    expect_equal(n_computed, size_t{300 + 3 * 10});
    expect_equal(scheduler.find(1)->finish().cached_tokens, 0);
    expect_equal(scheduler.find(3)->finish().cached_tokens, 300);
});

const Test one_at_a_time("scheduler: a deterministic step computes one sequence, in rotation, nothing cached", [] {
    SchedulerOptions alone = options(3, 100);
    alone.deterministic    = true;
    Scheduler scheduler(alone);
    for (uint32_t id = 1; id <= 3; ++id) scheduler.submit(sequence(id, std::vector<TokenId>(150, 7)));
    std::map<uint32_t, size_t> turns;
    for (int i = 0; i < 12; ++i) {
        const Plan plan = scheduler.plan(Clock::now());
        expect_equal(plan.rows.size(), size_t{1});
        const size_t turn = turns[plan.rows[0].sequence->id()]++;
        expect_equal(plan.rows[0].n_tokens, turn == 0 ? size_t{100} : turn == 1 ? size_t{50} : size_t{1});
        compute(scheduler, plan);
    }
    for (const auto& [id, n] : turns) expect_equal(n, size_t{4});
    expect_equal(turns.size(), size_t{3});
});

// For any order of events, all sequences finish and the cache keeps its invariants.
void random_rounds(uint32_t seed) {
    std::mt19937              random(seed);
    const auto                below = [&](size_t n) { return random() % n; };
    Scheduler                 scheduler({64, 100, {4, 10, 5000}});
    std::map<uint32_t, size_t> to_sample;
    uint32_t                  next_id = 1;
    for (int round = 0; round < 10000; ++round) {
        if (to_sample.size() < 12 && below(3) == 0) {
            std::vector<TokenId> prompt(1 + 50 * below(3) + below(20));
            for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = i < 100 ? 0 : static_cast<TokenId>(below(2));
            to_sample[next_id] = 1 + below(20);
            scheduler.submit(sequence(next_id++, prompt, static_cast<int32_t>(below(3))));
        }
        if (!to_sample.empty() && below(10) == 0) {
            const auto victim = std::next(to_sample.begin(), static_cast<std::ptrdiff_t>(below(to_sample.size())));
            scheduler.remove(scheduler.find(victim->first), below(4) == 0);
            to_sample.erase(victim);
        }
        const Plan plan = scheduler.plan(Clock::now());
        expect(!plan.rows.empty() || scheduler.n_running() == 0, "running sequences are computed");
        expect(scheduler.n_running() > 0 || scheduler.idle(), "no sequence waits while none runs");
        compute(scheduler, plan);
        for (const PlanRow& row : plan.rows) {
            if (row.sequence->n_sampled() < to_sample.at(row.sequence->id())) continue;
            to_sample.erase(row.sequence->id());
            scheduler.remove(row.sequence);
        }
        if (round % 11 == 0) scheduler.cache().check_invariants();
        expect_equal(scheduler.cache().n_in_use(), scheduler.n_running());
    }
    for (int round = 0; round < 10000 && !to_sample.empty(); ++round) {
        const Plan plan = scheduler.plan(Clock::now());
        compute(scheduler, plan);
        for (const PlanRow& row : plan.rows) {
            if (row.sequence->n_sampled() < to_sample.at(row.sequence->id())) continue;
            to_sample.erase(row.sequence->id());
            scheduler.remove(row.sequence);
        }
    }
    expect(scheduler.idle(), "all are through");
    expect_equal(scheduler.cache().n_tokens_in_use(), size_t{0});
}

const Test random_scheduler("scheduler: 10,000 random rounds of submit, cancel, preempt, finish leave nothing behind", [] {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
        try {
            random_rounds(seed);
        } catch (const std::exception& error) {
            fail("seed " + std::to_string(seed) + ": " + error.what());
        }
    }
});

}  // namespace
