#include "check.h"

#include "core/scheduler.h"

#include <memory>
#include <set>

using namespace chasqui;
using namespace chasqui::test;

namespace {

std::unique_ptr<Sequence> sequence(uint32_t id, size_t n_prompt) {
    Job job;
    job.id     = id;
    job.prompt = std::vector<TokenId>(n_prompt, 1);
    return std::make_unique<Sequence>(std::move(job));
}

// What the engine does with a plan, without a model: everything planned is computed, and token 2 is sampled.
void compute(const Plan& plan) {
    for (const PlanRow& row : plan) {
        row.sequence->n_computed += row.n_tokens;
        if (row.sequence->n_pending() == 0) row.sequence->accept(2, "x", false, 1000000);
    }
}

size_t tokens_of(const Plan& plan, uint32_t id) {
    for (const PlanRow& row : plan) {
        if (row.sequence->id() == id) return row.n_tokens;
    }
    return 0;
}

const Test nothing("scheduler: with nothing submitted it plans nothing", [] {
    Scheduler scheduler({});
    expect(scheduler.idle(), "idle");
    expect(scheduler.plan(Clock::now()).empty(), "an empty plan");
});

const Test full_batch("scheduler: a prompt takes the whole batch while nobody decodes", [] {
    Scheduler scheduler({4, 512, 100});
    scheduler.submit(sequence(1, 1200));
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 1), size_t{512});
});

const Test in_order("scheduler: prompts share a batch in order of arrival", [] {
    Scheduler scheduler({4, 100, 100});
    scheduler.submit(sequence(1, 60));
    scheduler.submit(sequence(2, 60));
    scheduler.submit(sequence(3, 60));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(tokens_of(plan, 1), size_t{60});
    expect_equal(tokens_of(plan, 2), size_t{40});
    expect_equal(tokens_of(plan, 3), size_t{0});
});

const Test decode_first("scheduler: every decoding sequence gets its token, whatever prompts arrive", [] {
    Scheduler scheduler({4, 128, 100});
    scheduler.submit(sequence(1, 10));
    scheduler.submit(sequence(2, 10));
    compute(scheduler.plan(Clock::now()));
    scheduler.submit(sequence(3, 5000));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(tokens_of(plan, 1), size_t{1});
    expect_equal(tokens_of(plan, 2), size_t{1});
    expect(tokens_of(plan, 3) > 0 && tokens_of(plan, 3) <= 126, "a slice of the prompt");
});

const Test learns("scheduler: beside decoding, prompt slices are as long as the target time allows", [] {
    Scheduler scheduler({4, 2048, 100});
    scheduler.submit(sequence(1, 1000));
    Plan plan = scheduler.plan(Clock::now());
    scheduler.observe(plan, 2000);  // 2 ms a prompt token
    compute(plan);
    plan = scheduler.plan(Clock::now());
    scheduler.observe(plan, 20);  // a decode step of 20 ms leaves 80 for prompts
    compute(plan);
    scheduler.submit(sequence(2, 1000));
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), size_t{40});
});

const Test progress("scheduler: prompts progress even when decoding alone takes longer than the target", [] {
    Scheduler scheduler({4, 2048, 10});
    scheduler.submit(sequence(1, 100));
    Plan plan = scheduler.plan(Clock::now());
    scheduler.observe(plan, 1000);
    compute(plan);
    plan = scheduler.plan(Clock::now());
    scheduler.observe(plan, 500);
    compute(plan);
    scheduler.submit(sequence(2, 1000));
    expect_equal(tokens_of(scheduler.plan(Clock::now()), 2), size_t{16});
});

const Test slots("scheduler: no two running sequences share a slot, and freed slots are used again", [] {
    Scheduler scheduler({2, 100, 100});
    for (uint32_t id = 1; id <= 4; ++id) scheduler.submit(sequence(id, 5));
    compute(scheduler.plan(Clock::now()));
    expect_equal(scheduler.n_running(), size_t{2});
    expect_equal(scheduler.n_waiting(), size_t{2});
    for (uint32_t id = 1; id <= 2; ++id) {
        scheduler.remove(scheduler.find(id));
        compute(scheduler.plan(Clock::now()));
        std::set<int32_t> in_use;
        for (const Sequence* each : scheduler.all()) {
            if (each->slot != Sequence::kNoSlot) in_use.insert(each->slot);
        }
        expect_equal(in_use.size(), size_t{2});
    }
});

const Test cancel_waiting("scheduler: a sequence can be removed while it waits", [] {
    Scheduler scheduler({1, 100, 100});
    scheduler.submit(sequence(1, 5));
    scheduler.submit(sequence(2, 5));
    compute(scheduler.plan(Clock::now()));
    expect(scheduler.remove(scheduler.find(2)) != nullptr, "sequence 2");
    expect(scheduler.find(2) == nullptr, "no sequence 2");
    scheduler.remove(scheduler.find(1));
    expect(scheduler.idle(), "idle");
});

}  // namespace
