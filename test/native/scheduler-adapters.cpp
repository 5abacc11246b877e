#include "scheduling.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using std::chrono::milliseconds;

std::unique_ptr<Sequence> adapted(uint32_t id, size_t n_prompt, AdapterSet adapters) {
    Job job;
    job.id       = id;
    job.prompt   = std::vector<TokenId>(n_prompt, static_cast<TokenId>(1000 + id));
    job.adapters = std::move(adapters);
    return std::make_unique<Sequence>(std::move(job));
}

const AdapterSet kOne = {{0, 1.0f}}, kOther = {{1, 1.0f}};

// Of all rows; fails when they are not all of one set.
AdapterSet adapters_of(const Plan& plan) {
    for (const PlanRow& row : plan.rows) {
        expect(row.sequence->job().adapters == plan.rows[0].sequence->job().adapters, "one set in a step");
    }
    return plan.rows.at(0).sequence->job().adapters;
}

const Test turns("scheduler: each set of adapters has the same number of turns, whoever has more sequences", [] {
    Scheduler scheduler(options(8, 100));
    for (uint32_t id = 1; id <= 5; ++id) scheduler.submit(adapted(id, 5, {}));
    scheduler.submit(adapted(6, 5, kOne));
    scheduler.submit(adapted(7, 5, kOther));
    std::map<AdapterSet, size_t> n_steps;
    auto                         now = Clock::now();
    for (int step = 0; step < 30; ++step, now += milliseconds(100)) {
        const Plan plan = scheduler.plan(now);
        ++n_steps[adapters_of(plan)];
        compute(scheduler, plan);
    }
    for (const auto& [adapters, n] : n_steps) expect_equal(n, size_t{10});
    expect_equal(n_steps.size(), size_t{3});
    for (uint32_t id = 1; id <= 7; ++id) expect_equal(scheduler.find(id)->n_sampled(), size_t{10});
});

const Test lasts("scheduler: a turn has as many short steps as fit into a quarter of the target time", [] {
    Scheduler scheduler(options(2, 100));
    scheduler.submit(adapted(1, 5, kOne));
    scheduler.submit(adapted(2, 5, kOther));
    std::vector<bool> is_one;
    auto              now = Clock::now();
    for (int step = 0; step < 9; ++step, now += milliseconds(10)) {
        const Plan plan = scheduler.plan(now);
        is_one.push_back(adapters_of(plan) == kOne);
        compute(scheduler, plan);
    }
    const bool first = is_one[0];
    for (size_t step = 0; step < is_one.size(); ++step) expect_equal(bool{is_one[step]}, first == (step / 3 % 2 == 0));
});

const Test newcomers("scheduler: a set that ever new sequences ask for does not keep others from their turns", [] {
    Scheduler scheduler(options(4, 100));
    scheduler.submit(adapted(1, 5, kOther));
    auto now = Clock::now();
    for (uint32_t id = 2; id < 40; ++id, now += milliseconds(100)) {
        scheduler.submit(adapted(id, 50, kOne));
        const Plan plan = scheduler.plan(now);
        compute(scheduler, plan);
        if (scheduler.find(id - 1) != nullptr && id > 2) scheduler.remove(scheduler.find(id - 1));
    }
    expect(scheduler.find(1)->n_sampled() >= 18, "every other step");
});

const Test sliced("scheduler: a prompt with other adapters than those that decode is sliced beside them too", [] {
    Scheduler scheduler(options(4, 2048));
    auto      now = Clock::now();
    scheduler.submit(adapted(1, 500, kOne));
    compute(scheduler, scheduler.plan(now), 1000);
    compute(scheduler, scheduler.plan(now += milliseconds(100)), 20);
    scheduler.submit(adapted(2, 2000, kOther));
    size_t n_tokens = 0;
    for (int step = 0; step < 2; ++step) {
        const Plan plan = scheduler.plan(now += milliseconds(100));
        n_tokens        = std::max(n_tokens, tokens_of(plan, 2));
        compute(scheduler, plan, 20);
    }
    expect(n_tokens > 0 && n_tokens < 100, "a slice");
});

}  // namespace
