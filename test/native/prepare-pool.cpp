#include "check.h"

#include "core/event.h"
#include "core/prepare-pool.h"

#include <pthread.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;
using namespace std::chrono_literals;

namespace {

using Ending = PreparePool::Ending;

PreparePool::Options options(size_t n_workers, PreparePool::Clock::duration timeout = 60s) {
    PreparePool::Options each;
    each.n_workers = n_workers;
    each.timeout   = timeout;
    return each;
}

// Submits a task; the future tells how it ended.
std::future<Ending> submit(PreparePool& pool, uint32_t owner, std::function<void()> work) {
    const auto promise = std::make_shared<std::promise<Ending>>();
    auto       ending  = promise->get_future();
    expect(pool.submit({owner, std::move(work), [promise](Ending end) { promise->set_value(end); }}), "room for a task");
    return ending;
}

void go_on_until_interrupted() {
    while (true) {
        PreparePool::check();
        std::this_thread::sleep_for(1ms);
    }
}

void busy_for(PreparePool::Clock::duration time) {
    const auto until = PreparePool::Clock::now() + time;
    while (PreparePool::Clock::now() < until) {
        PreparePool::check();
        std::this_thread::sleep_for(1ms);
    }
}

// Blocks tasks until it is opened.
class Gate {
public:
    void open() { promise_.set_value(); }
    void wait() const { opened_.wait(); }

private:
    std::promise<void>       promise_;
    std::shared_future<void> opened_ = promise_.get_future().share();
};

bool is(std::future<Ending>& ending, Ending expected) {
    return ending.wait_for(30s) == std::future_status::ready && ending.get() == expected;
}

const Test runs("prepare-pool: runs a task", [] {
    PreparePool      pool(options(2));
    std::atomic<int> sum{0};
    std::vector<std::future<Ending>> endings;
    for (int i = 1; i <= 100; ++i) endings.push_back(submit(pool, static_cast<uint32_t>(i % 7), [&sum, i] { sum += i; }));
    for (auto& ending : endings) expect(is(ending, Ending::done), "the end of each");
    expect_equal(sum.load(), 5050);
});

const Test deadline("prepare-pool: a task past its deadline is ended, and others go on", [] {
    PreparePool pool(options(2, 50ms));
    auto        first  = submit(pool, 1, go_on_until_interrupted);
    auto        second = submit(pool, 2, go_on_until_interrupted);
    auto        third  = submit(pool, 3, [] {});
    expect(is(first, Ending::timed_out) && is(second, Ending::timed_out), "the deadline of both");
    expect(is(third, Ending::done), "the one behind them to be done");
});

const Test shared_deadline("prepare-pool: the deadline is for all tasks of an owner", [] {
    PreparePool                      pool(options(1, 200ms));
    std::vector<std::future<Ending>> endings;
    // However busy the machine is, this one is done in time.
    endings.push_back(submit(pool, 1, [] {}));
    for (int i = 0; i < 4; ++i) {
        endings.push_back(submit(pool, 1, [] {
            for (int ms = 0; ms < 80; ++ms) {
                PreparePool::check();
                std::this_thread::sleep_for(1ms);
            }
        }));
    }
    expect(is(endings.front(), Ending::done), "the first to be done");
    expect(is(endings.back(), Ending::timed_out), "nothing left for the last");
});

const Test stages("prepare-pool: the deadline is for the tasks that an owner has one after another, too", [] {
    PreparePool pool(options(1, 1s));
    const auto  stage = [&] { return submit(pool, 1, [] { busy_for(600ms); }); };
    auto        first = stage();
    expect(is(first, Ending::done), "the first to be done");
    auto second = stage();
    expect(is(second, Ending::timed_out), "too little time left for the second");
    auto other = submit(pool, 2, [] { busy_for(600ms); });
    expect(is(other, Ending::done), "another owner to have its own time");
});

const Test given_back("prepare-pool: an owner without tasks gets its time back", [] {
    PreparePool pool(options(1, 1s));
    const auto  stage = [&] { return submit(pool, 1, [] { busy_for(600ms); }); };
    auto        first = stage();
    expect(is(first, Ending::done), "the first to be done");
    std::this_thread::sleep_for(700ms);
    auto second = stage();
    expect(is(second, Ending::done), "the second to be done");
});

// A program may use one AbortSignal for all its requests, which makes one owner.
const Test ordinary("prepare-pool: ordinary tasks, one after another, never add up to the deadline", [] {
    PreparePool pool(options(1, 1s));
    for (int i = 0; i < 25; ++i) {
        auto each = submit(pool, 1, [] { busy_for(60ms); });
        expect(is(each, Ending::done), "each to be done");
    }
});

const Test turns("prepare-pool: owners take turns", [] {
    PreparePool      pool(options(1));
    Gate             gate;
    std::mutex       mutex;
    std::string      order;
    const auto       note = [&](char name) {
        return [&, name] {
            const std::lock_guard<std::mutex> lock(mutex);
            order += name;
        };
    };
    std::vector<std::future<Ending>> endings;
    endings.push_back(submit(pool, 9, [&] { gate.wait(); }));
    for (int i = 0; i < 4; ++i) endings.push_back(submit(pool, 1, note('a')));
    endings.push_back(submit(pool, 2, note('b')));
    endings.push_back(submit(pool, 3, note('c')));
    gate.open();
    for (auto& ending : endings) expect(is(ending, Ending::done), "all to be done");
    expect_equal(order, std::string("abcaaa"));
});

const Test cancels("prepare-pool: a cancelled owner's tasks leave, and end", [] {
    PreparePool      pool(options(1));
    std::atomic<int> n_begun{0};
    auto             running = submit(pool, 1, [&] {
        ++n_begun;
        go_on_until_interrupted();
    });
    auto             waiting = submit(pool, 1, [&] { ++n_begun; });
    while (n_begun == 0) std::this_thread::sleep_for(1ms);
    pool.cancel(1);
    pool.cancel(7);
    expect(is(running, Ending::cancelled) && is(waiting, Ending::cancelled), "both to be told");
    auto next = submit(pool, 2, [] {});
    expect(is(next, Ending::done), "room for others");
    expect_equal(n_begun.load(), 1);
});

const Test full("prepare-pool: refuses tasks beyond its limit", [] {
    PreparePool::Options few = options(1);
    few.n_waiting            = 2;
    PreparePool       pool(few);
    Gate              gate;
    std::atomic<bool> ends_within_word{false};
    auto              running = submit(pool, 1, [&] {
        ends_within_word = true;
        gate.wait();
    });
    while (!ends_within_word) std::this_thread::sleep_for(1ms);
    auto first  = submit(pool, 1, [] {});
    auto second = submit(pool, 2, [] {});
    expect(!pool.submit({3, [] {}, [](Ending) {}}), "no room for a third");
    gate.open();
    expect(is(running, Ending::done) && is(first, Ending::done) && is(second, Ending::done), "the others to be done");
});

const Test stubborn("prepare-pool: work that never calls check() does not take a place from others", [] {
    const auto gate = std::make_shared<Gate>();
    {
        PreparePool pool(options(1, 20ms));
        auto        stuck = submit(pool, 1, [gate] { gate->wait(); });
        auto        next  = submit(pool, 2, [] {});
        expect(is(stuck, Ending::timed_out), "an end in time");
        expect(is(next, Ending::done), "another thread for the next");
        expect(!pool.close(), "to be told that something goes on");
    }
    gate->open();
});

const Test reports_stuck("prepare-pool: work that never calls check() is told of, after its end is", [] {
    const auto          gate      = std::make_shared<Gate>();
    const auto          told      = std::make_shared<std::promise<void>>();
    auto                is_told   = told->get_future();
    PreparePool::Options stuck    = options(1, 20ms);
    stuck.on_stuck                = [told] { told->set_value(); };
    {
        PreparePool pool(stuck);
        auto        ending = submit(pool, 1, [gate] { gate->wait(); });
        expect(is(ending, Ending::timed_out), "an end in time");
        expect(is_told.wait_for(0s) == std::future_status::timeout, "time to end by itself");
        expect(is_told.wait_for(30s) == std::future_status::ready, "to be told");
    }
    gate->open();
});

const Test closed_again("prepare-pool: closing again neither waits again nor returns otherwise", [] {
    const auto  gate = std::make_shared<Gate>();
    PreparePool pool(options(1));
    Gate        begun;
    auto        stuck = submit(pool, 1, [&begun, gate] {
        begun.open();
        gate->wait();
    });
    begun.wait();
    expect(!pool.close(), "to be told that something goes on");
    const auto before = PreparePool::Clock::now();
    expect(!pool.close(), "to be told the same");
    expect(PreparePool::Clock::now() - before < 1s, "not to wait for what does not end");
    gate->open();
    expect(is(stuck, Ending::closed), "its end to be told");
});

const Test long_tasks("prepare-pool: long tasks do not delay others", [] {
    PreparePool                      pool(options(2));
    std::vector<std::future<Ending>> long_ones;
    for (uint32_t owner = 1; owner <= 8; ++owner) long_ones.push_back(submit(pool, owner, go_on_until_interrupted));
    auto short_one = submit(pool, 9, [] {});
    expect(is(short_one, Ending::done), "the short one to be done");
    expect(pool.close(), "all of them to end");
    for (auto& ending : long_ones) expect(is(ending, Ending::closed), "each to be told");
});

const Test closing("prepare-pool: closing ends running and waiting tasks", [] {
    PreparePool       pool(options(1));
    std::atomic<bool> ends_within_word{false};
    auto              running = submit(pool, 1, [&] {
        ends_within_word = true;
        go_on_until_interrupted();
    });
    auto waiting = submit(pool, 2, [] {});
    while (!ends_within_word) std::this_thread::sleep_for(1ms);
    expect(pool.close(), "all of it to end");
    expect(is(running, Ending::closed) && is(waiting, Ending::closed), "both to be told");
    expect(!pool.submit({3, [] {}, [](Ending) {}}), "nothing more to be taken");
});

const Test lowers("prepare-pool: a long task gets a lower priority", [] {
    std::atomic<int>     n_lowered{0}, n_started{0};
    PreparePool::Options each = options(1);
    each.prepare_thread       = [&] { ++n_started; };
    each.lower_priority       = [&] { ++n_lowered; };
    PreparePool pool(each);
    auto        short_one = submit(pool, 1, [] {
        for (int i = 0; i < 1000; ++i) PreparePool::check();
    });
    expect(is(short_one, Ending::done), "a short one");
    expect_equal(n_lowered.load(), 0);
    auto long_one = submit(pool, 1, [&] {
        while (n_lowered == 0) PreparePool::check();
    });
    expect(is(long_one, Ending::done), "a long one");
    auto next = submit(pool, 1, [] {});
    expect(is(next, Ending::done), "the next one");
    expect_equal(n_lowered.load(), 1);
    expect_equal(n_started.load(), 2);  // the next one has a thread of ordinary priority
});

const Test threads("prepare-pool: a system without memory for a thread is not reported as a full queue", [] {
    constexpr size_t kMoreThanAddressSpace = size_t{1} << 50;
    pthread_attr_t   normal, huge;
    pthread_getattr_default_np(&normal);
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, kMoreThanAddressSpace);
    PreparePool pool(options(1));
    pthread_setattr_default_np(&huge);
    std::optional<std::error_code> refused;
    try {
        pool.submit({1, [] {}, [](Ending) {}});
    } catch (const std::system_error& error) {
        refused = error.code();
    }
    pthread_setattr_default_np(&normal);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&normal);
    expect(refused == std::errc::resource_unavailable_try_again, "the cause");
    auto next = submit(pool, 1, [] {});
    expect(is(next, Ending::done), "the pool works again");
});

const Test failures("event: a failed allocation is out_of_memory, and errors keep their code", [] {
    expect(Failure::of(std::bad_alloc()).code == ErrorCode::out_of_memory, "bad_alloc");
    expect(Failure::of(Error(ErrorCode::invalid_image, "it")).code == ErrorCode::invalid_image, "an error with a code");
    const Failure other = Failure::of(std::runtime_error("cause"));
    expect(other.code == ErrorCode::decode_failed && other.message == "cause", "another error");
});

}  // namespace
