#include "check.h"

#include "core/task-thread.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Clock = TaskThread::Clock;

const Test in_order("task-thread: tasks run one after another, and what one throws ends nothing else", [] {
    std::string order;
    TaskThread  thread;
    thread.put([&] { order += "a"; });
    thread.put([] { throw std::runtime_error("it failed"); });
    thread.put([&] { order += "b"; });
    expect(thread.close(Clock::time_point::max()), "the end");
    thread.put([&] { order += "c"; });
    expect(thread.close(), "the same again");
    expect_equal(order, std::string("ab"));
});

// As one does that waits for a disk.
const Test left_behind("task-thread: a task that does not end is left behind, with all that it owns", [] {
    const auto          owned = std::make_shared<int>(7), dropped = std::make_shared<int>(8);
    std::promise<void>  begun;
    const auto          may_end = std::make_shared<std::promise<void>>();
    std::atomic<bool>   has_run{false};
    {
        TaskThread thread;
        thread.put([&begun, may_end, owned] {
            begun.set_value();
            may_end->get_future().wait();
        });
        thread.put([&has_run, dropped] { has_run = true; });
        begun.get_future().wait();
        const auto give_up = Clock::now() + std::chrono::milliseconds(50);
        expect(!thread.close(Clock::now(), give_up) && !thread.close(), "a task that goes on");
        expect_equal(dropped.use_count(), 1L);
        expect(Clock::now() >= give_up, "not before");
    }
    expect_equal(owned.use_count(), 2L);
    may_end->set_value();
    while (owned.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect(!has_run, "nothing is begun afterwards");
});

const Test owned_by_task("task-thread: the last task may be what owns the thread", [] {
    struct Owner {
        std::shared_ptr<void> end;  // goes after the thread
        TaskThread            thread;
    };
    std::promise<void> may_end, has_ended;
    auto               owner = std::make_shared<Owner>();
    owner->end               = std::shared_ptr<void>(nullptr, [&has_ended](void*) { has_ended.set_value(); });
    owner->thread.put([owner, &may_end] { may_end.get_future().wait(); });
    owner.reset();
    may_end.set_value();
    has_ended.get_future().wait();
});

}  // namespace
